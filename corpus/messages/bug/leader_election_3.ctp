// made: leader_election 3 wrong
// expect: bug assertion

node Node1 {
    send_i own1 @1 -> @2: 1;
    recv a1 @1 -> x1;
    assume x1 > 1;
    send_i pass1 @1 -> @2: x1;
}
node Node2 {
    send_i own2 @2 -> @3: 2;
    recv a2 @2 -> x2;
    assume x2 < 2;
    send_i hasty2 @2 -> @observer: 2;
    recv b2 @2 -> y2;
    assume y2 > 2;
    send_i pass2 @2 -> @3: y2;
}
node Node3 {
    send_i own3 @3 -> @1: 3;
    recv a3 @3 -> x3;
    assume x3 < 3;
    recv b3 @3 -> y3;
    assume y3 == 3;
    send_i leader @3 -> @observer: y3;
}
node Observer {
    recv heard @observer -> leader;
    assert leader == 3;
}
