// made: handshake 1 wrong
// expect: verified with --property deadlock
// expect: bug deadlock with --property deadlock --buffering zero

node A1 {
    send hello2 @2 -> @3: 2;
    recv heard2 @2 -> x2;
}
node B1 {
    send hello3 @3 -> @2: 3;
    recv heard3 @3 -> x3;
}
