// made: producer_consumer 3 right
// expect: verified
// expect: verified with --property deadlock

node Producer {
    send item1 @1 -> @0: 1;
    recv got1 @1 -> ack1;
    send item2 @1 -> @0: 2;
    recv got2 @1 -> ack2;
    send item3 @1 -> @0: 3;
    recv got3 @1 -> ack3;
    assert ack3 == 3;
}
node Consumer {
    recv r1 @0 -> x1;
    send_i a1 @0 -> @1: x1;
    recv r2 @0 -> x2;
    send_i a2 @0 -> @1: x2;
    recv r3 @0 -> x3;
    send_i a3 @0 -> @1: x3;
    assert x3 == 3;
}
