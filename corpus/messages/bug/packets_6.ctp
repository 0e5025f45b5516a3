// made: packets 6 wrong
// expect: bug assertion

node Source {
    send_i p0 @0 -> @1: 0;
    send_i p1 @0 -> @2: 1;
    send_i p2 @0 -> @3: 2;
    send_i p3 @0 -> @1: 3;
    send_i p4 @0 -> @2: 4;
    send_i p5 @0 -> @3: 5;
}
node Worker1 {
    recv r0 @1 -> x0;
    send_i q0 @1 -> @2b: x0;
    recv r3 @1 -> x3;
    send_i q3 @1 -> @2b: x3;
    recv t2 @1b -> y2;
    send_i u2 @1 -> @sink: y2;
    recv t5 @1b -> y5;
    send_i u5 @1 -> @sink: y5;
}
node Worker2 {
    recv r1 @2 -> x1;
    send_i q1 @2 -> @3b: x1;
    recv r4 @2 -> x4;
    send_i q4 @2 -> @3b: x4;
    recv t0 @2b -> y0;
    send_i u0 @2 -> @sink: y0;
    recv t3 @2b -> y3;
    send_i u3 @2 -> @sink: y3;
}
node Worker3 {
    recv r2 @3 -> x2;
    send_i q2 @3 -> @1b: x2;
    recv r5 @3 -> x5;
    send_i q5 @3 -> @1b: x5;
    recv t1 @3b -> y1;
    send_i u1 @3 -> @sink: y1;
    recv t4 @3b -> y4;
    send_i u4 @3 -> @sink: y4;
}
node Sink {
    recv v0 @sink -> z0;
    recv v1 @sink -> z1;
    recv v2 @sink -> z2;
    recv v3 @sink -> z3;
    recv v4 @sink -> z4;
    recv v5 @sink -> z5;
    assert z5 == 5;
}
