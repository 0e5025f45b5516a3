// made: token_ring 3 right
// expect: verified
// expect: verified with --property deadlock

node Node0 {
    send_i t0 @0 -> @1: 1;
    recv r0 @0 -> x0;
    assert x0 == 3;
}
node Node1 {
    recv r1 @1 -> x1;
    send_i t1 @1 -> @2: x1 + 1;
}
node Node2 {
    recv r2 @2 -> x2;
    send_i t2 @2 -> @0: x2 + 1;
}
