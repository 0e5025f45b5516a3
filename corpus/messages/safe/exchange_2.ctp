// made: exchange 2 right
// expect: verified
// expect: verified with --property deadlock

node Left {
    send_i s1_1 @1 -> @2: 1;
    send_i s1_2 @1 -> @2: 2;
    recv_i r1_1 @1 -> x1;
    recv_i r1_2 @1 -> x2;
    wait r1_2;
    wait r1_1;
    assert x2 == 2;
}
node Right {
    send_i s2_1 @2 -> @1: 1;
    send_i s2_2 @2 -> @1: 2;
    recv_i r2_1 @2 -> x1;
    recv_i r2_2 @2 -> x2;
    wait r2_2;
    wait r2_1;
    assert x2 == 2;
}
