// Each waits for the other one; what would be computed afterwards has no value.
// expect: bug deadlock with --property deadlock
// expect: vacuous

node A {
    recv r @0 -> x;
    y = x - 2;
    send s @0 -> @1: y;
}
node B {
    recv q @1 -> z;
    w = z + 1;
    send t @1 -> @0: w;
}
