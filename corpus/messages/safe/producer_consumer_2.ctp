// made: producer_consumer 2 right
// expect: verified
// expect: verified with --property deadlock

node Producer {
    send item1 @1 -> @0: 1;
    recv got1 @1 -> ack1;
    send item2 @1 -> @0: 2;
    recv got2 @1 -> ack2;
    assert ack2 == 2;
}
node Consumer {
    recv r1 @0 -> x1;
    send_i a1 @0 -> @1: x1;
    recv r2 @0 -> x2;
    send_i a2 @0 -> @1: x2;
    assert x2 == 2;
}
