// made: scatter_gather 2 right
// expect: verified
// expect: verified with --property deadlock

node Master {
    send_i work1 @0 -> @1: 1;
    send_i work2 @0 -> @2: 2;
    recv_i r1 @0 -> x1;
    recv_i r2 @0 -> x2;
    wait r1;
    wait r2;
    assert x2 > 1 && x2 <= 4;
}
node Worker1 {
    recv get1 @1 -> w1;
    send_i done1 @1 -> @0: w1 + w1;
}
node Worker2 {
    recv get2 @2 -> w2;
    send_i done2 @2 -> @0: w2 + w2;
}
