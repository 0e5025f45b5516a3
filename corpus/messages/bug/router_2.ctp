// made: router 2 wrong
// expect: bug assertion

node Router {
    recv in1 @0 -> x1;
    send_i out1 @0 -> @server: x1;
    recv in2 @0 -> x2;
    send_i out2 @0 -> @server: x2;
    recv in3 @0 -> x3;
    send_i out3 @0 -> @server: x3;
    recv in4 @0 -> x4;
    send_i out4 @0 -> @server: x4;
}
node Server {
    recv r1 @server -> y1;
    recv r2 @server -> y2;
    recv r3 @server -> y3;
    recv r4 @server -> y4;
    assert y1 == 11;
}
node Client1 {
    send_i c1_1 @1 -> @0: 11;
    send_i c1_2 @1 -> @0: 12;
}
node Client2 {
    send_i c2_1 @2 -> @0: 21;
    send_i c2_2 @2 -> @0: 22;
}
