// The wait for rB completes rA, too: so rA cannot get s1, which is sent after that.
// expect: verified
// matchings: 2

node T0 {
    recv_i rA @0 -> a;
    recv_i rB @0 -> b;
    wait rB;
    send_i go @0 -> @1: 7;
    wait rA;
    assert a != 5;
}

node T1 {
    recv rG @1 -> g;
    send_i s1 @1 -> @0: 5;
}

node T2 {
    send_i s2 @2 -> @0: 6;
}

node T3 {
    send_i s3 @3 -> @0: 8;
}
