// A receive may be posted long before its message is sent, even if the receiver itself causes the send.
// expect: bug assertion
// matchings: 1

node T0 {
    recv_i rA @0 -> a;
    send_i go @0 -> @1: 7;
    wait rA;
    assert a != 5;
}

node T1 {
    recv rG @1 -> g;
    send_i s1 @1 -> @0: 5;
}
