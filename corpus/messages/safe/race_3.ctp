// made: race 3 right
// expect: verified
// expect: verified with --property deadlock

node Receiver {
    recv r1 @0 -> x1;
    recv r2 @0 -> x2;
    recv r3 @0 -> x3;
    assert x1 > 0 && x1 <= 3;
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
