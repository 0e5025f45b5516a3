// made: packets 3 wrong
// expect: bug assertion

node Source {
    send_i p0 @0 -> @1: 0;
    send_i p1 @0 -> @2: 1;
    send_i p2 @0 -> @3: 2;
}
node Worker1 {
    recv r0 @1 -> x0;
    send_i q0 @1 -> @2b: x0;
    recv t2 @1b -> y2;
    send_i u2 @1 -> @sink: y2;
}
node Worker2 {
    recv r1 @2 -> x1;
    send_i q1 @2 -> @3b: x1;
    recv t0 @2b -> y0;
    send_i u0 @2 -> @sink: y0;
}
node Worker3 {
    recv r2 @3 -> x2;
    send_i q2 @3 -> @1b: x2;
    recv t1 @3b -> y1;
    send_i u1 @3 -> @sink: y1;
}
node Sink {
    recv v0 @sink -> z0;
    recv v1 @sink -> z1;
    recv v2 @sink -> z2;
    assert z2 == 2;
}
