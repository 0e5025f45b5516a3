// made: leader_election 4 right
// expect: verified
// expect: verified with --property deadlock

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
    recv b2 @2 -> y2;
    assume y2 > 2;
    send_i pass2 @2 -> @3: y2;
}
node Node3 {
    send_i own3 @3 -> @4: 3;
    recv a3 @3 -> x3;
    assume x3 < 3;
    recv b3 @3 -> y3;
    assume y3 > 3;
    send_i pass3 @3 -> @4: y3;
}
node Node4 {
    send_i own4 @4 -> @1: 4;
    recv a4 @4 -> x4;
    assume x4 < 4;
    recv b4 @4 -> y4;
    assume y4 == 4;
    send_i leader @4 -> @observer: y4;
}
node Observer {
    recv heard @observer -> leader;
    assert leader == 4;
}
