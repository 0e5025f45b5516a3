// R took the message of S2 first, and believes that S1 is late. But both may have been there.
// expect: bug assertion
// expect: verified with --property deadlock
// matchings: 4

node R {
    recv_i r1 @1 -> x1;
    recv_i r2 @2 -> x2;
    wait_any r1, r2 is r2;
    wait r1;
    assert x1 > x2;
}

node S1 {
    send_i s1 @11 -> @1: 5;
    send_i s2 @11 -> @2: 5;
}

node S2 {
    send_i s3 @12 -> @2: 7;
    send_i s4 @12 -> @1: 3;
}
