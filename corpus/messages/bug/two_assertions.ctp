// One assertion fails, the other one does not: that is a bug.
// expect: bug assertion
// matchings: 1

node T0 {
    recv rA @0 -> a;
    assert a == 1;
    assert 1 == 1;
}

node T1 {
    send_i s1 @1 -> @0: 2;
}
