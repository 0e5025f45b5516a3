// made: exchange 4 right
// expect: verified
// expect: verified with --property deadlock

node Left {
    send_i s1_1 @1 -> @2: 1;
    send_i s1_2 @1 -> @2: 2;
    send_i s1_3 @1 -> @2: 3;
    send_i s1_4 @1 -> @2: 4;
    recv_i r1_1 @1 -> x1;
    recv_i r1_2 @1 -> x2;
    recv_i r1_3 @1 -> x3;
    recv_i r1_4 @1 -> x4;
    wait r1_4;
    wait r1_3;
    wait r1_2;
    wait r1_1;
    assert x4 == 4;
}
node Right {
    send_i s2_1 @2 -> @1: 1;
    send_i s2_2 @2 -> @1: 2;
    send_i s2_3 @2 -> @1: 3;
    send_i s2_4 @2 -> @1: 4;
    recv_i r2_1 @2 -> x1;
    recv_i r2_2 @2 -> x2;
    recv_i r2_3 @2 -> x3;
    recv_i r2_4 @2 -> x4;
    wait r2_4;
    wait r2_3;
    wait r2_2;
    wait r2_1;
    assert x4 == 4;
}
