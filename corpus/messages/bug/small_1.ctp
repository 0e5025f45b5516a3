// The program small1 of the MCAPI paper is not published; this one has as many clauses.
// expect: bug assertion

node T0 {
    recv_i A @0 -> a;
    wait A;
    recv_i B @0 -> b;
    wait B;
    assert a == 1;
}
node T1 {
    send_i s1 @1 -> @0: 1;
}
node T2 {
    send_i s2 @2 -> @0: 2;
}
