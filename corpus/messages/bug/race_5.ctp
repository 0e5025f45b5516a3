// made: race 5 wrong
// expect: bug assertion

node Receiver {
    recv r1 @0 -> x1;
    recv r2 @0 -> x2;
    recv r3 @0 -> x3;
    recv r4 @0 -> x4;
    recv r5 @0 -> x5;
    assert x1 != 5;
}
node Sender1 {
    send_i s1 @1 -> @0: 1;
}
node Sender2 {
    send_i s2 @2 -> @0: 2;
}
node Sender3 {
    send_i s3 @3 -> @0: 3;
}
node Sender4 {
    send_i s4 @4 -> @0: 4;
}
node Sender5 {
    send_i s5 @5 -> @0: 5;
}
