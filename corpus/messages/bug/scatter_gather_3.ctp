// made: scatter_gather 3 wrong
// expect: bug assertion

node Master {
    send_i work1 @0 -> @1: 1;
    send_i work2 @0 -> @2: 2;
    send_i work3 @0 -> @3: 3;
    recv_i r1 @0 -> x1;
    recv_i r2 @0 -> x2;
    recv_i r3 @0 -> x3;
    wait r1;
    wait r2;
    wait r3;
    assert x1 == 2;
}
node Worker1 {
    recv get1 @1 -> w1;
    send_i done1 @1 -> @0: w1 + w1;
}
node Worker2 {
    recv get2 @2 -> w2;
    send_i done2 @2 -> @0: w2 + w2;
}
node Worker3 {
    recv get3 @3 -> w3;
    send_i done3 @3 -> @0: w3 + w3;
}
