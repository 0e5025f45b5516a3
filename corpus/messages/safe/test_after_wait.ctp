// A request is complete when one that was posted later at the same endpoint is: then no test can find it missing. So no
// run takes this path.
// expect: vacuous
// matchings: 0

node R {
    recv_i r1 @1 -> x1;
    recv_i r2 @1 -> x2;
    wait r2;
    test r1 is false;
    wait r1;
    assert x1 == 0;
}

node S {
    send_i s1 @2 -> @1: 1;
    send_i s2 @2 -> @1: 2;
}
