// made: handshake 3 wrong
// expect: verified with --property deadlock
// expect: bug deadlock with --property deadlock --buffering zero

node A1 {
    send hello2 @2 -> @3: 2;
    recv heard2 @2 -> x2;
}
node B1 {
    recv heard3 @3 -> x3;
    send hello3 @3 -> @2: 3;
}
node A2 {
    send hello4 @4 -> @5: 4;
    recv heard4 @4 -> x4;
}
node B2 {
    recv heard5 @5 -> x5;
    send hello5 @5 -> @4: 5;
}
node A3 {
    send hello6 @6 -> @7: 6;
    recv heard6 @6 -> x6;
}
node B3 {
    send hello7 @7 -> @6: 7;
    recv heard7 @7 -> x7;
}
