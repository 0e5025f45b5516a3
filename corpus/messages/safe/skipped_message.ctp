// Not every message is received. But none is received before those that were sent earlier on its channel.
// expect: verified
// expect: bug unmatched with --property unmatched
// matchings: 1

node T0 {
    recv rA @0 -> a;
    recv rB @0 -> b;
    assume a == 3;
    assert b != 2;
}

node T1 {
    send_i s1 @1 -> @0: 1;
    send_i s2 @1 -> @0: 2;
}

node T2 {
    send_i s3 @2 -> @0: 3;
}
