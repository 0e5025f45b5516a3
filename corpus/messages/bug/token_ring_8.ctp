// made: token_ring 8 wrong
// expect: bug assertion

node Node0 {
    send_i t0 @0 -> @1: 1;
    recv r0 @0 -> x0;
    assert x0 == 8;
}
node Node1 {
    recv r1 @1 -> x1;
    send_i t1 @1 -> @2: x1 + 1;
}
node Node2 {
    recv r2 @2 -> x2;
    send_i t2 @2 -> @3: x2 + 1;
}
node Node3 {
    recv r3 @3 -> x3;
    send_i t3 @3 -> @4: x3 + 1;
}
node Node4 {
    recv r4 @4 -> x4;
    send_i t4 @4 -> @5: x4 + 1;
}
node Node5 {
    recv r5 @5 -> x5;
    send_i t5 @5 -> @6: x5 + 1;
}
node Node6 {
    recv r6 @6 -> x6;
    send_i t6 @6 -> @7: x6 + 1;
}
node Node7 {
    recv r7 @7 -> x7;
    send_i t7 @7 -> @0: x7 + 1;
}
node Restarted {
    send_i again @again -> @0: 1;
}
