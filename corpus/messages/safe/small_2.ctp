// The program small2 of the MCAPI paper is not published; this one has as many clauses.
// expect: verified

node T0 {
    recv_i A @0 -> a;
    wait A;
    assert a == 1;
}
node T1 {
    send_i s1 @1 -> @0: 1;
}
