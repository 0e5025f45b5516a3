// Three nodes of an MCAPI program. T2 tells T1 to go on only after its own message to T0 has been sent. So T0 seems
// to get 4 first, and every test run agrees. But a message that is sent later, by another node, may arrive earlier.
//
// expect: bug assertion
// expect: verified with --property deadlock
// expect: verified with --property unmatched
// matchings: 2

node T0 {
    recv_i A @0 -> a;
    wait A;
    recv_i B @0 -> b;
    wait B;
    assume b > 0;
    assert a == 4;
}

node T1 {
    recv_i C @1 -> c;
    wait C;
    send_i s3 @1 -> @0: 1;
    wait s3;
}

node T2 {
    send_i s1 @2 -> @0: 4;
    wait s1;
    send_i s2 @2 -> @1: "Go";
    wait s2;
}
