// Each waits for the other one to begin.
// expect: bug deadlock with --property deadlock
// expect: vacuous

node A {
    recv a @1 -> x;
    send b @1 -> @2: x;
}

node B {
    recv c @2 -> y;
    send d @2 -> @1: y;
}
