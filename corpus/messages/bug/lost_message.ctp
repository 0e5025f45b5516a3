// Two messages, and only one of them is read.
// expect: bug unmatched with --property unmatched
// expect: bug assertion
// matchings: 2

node R {
    recv r @0 -> x;
    assert x == 1;
}

node S1 {
    send_i s1 @1 -> @0: 1;
}

node S2 {
    send_i s2 @2 -> @0: 2;
}
