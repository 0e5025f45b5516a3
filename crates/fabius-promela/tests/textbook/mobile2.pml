/* ok */
mtype = { red, white, blue };
chan link = [1] of { chan };
proctype A(chan me) { byte x; chan peer; link?peer; peer!7; me?x; assert(x == 8) }
proctype B(chan me) { byte y; link!me; me?y; assert(y == 7) }
init { chan a = [1] of { byte }; chan b = [1] of { byte };
  atomic { run A(a); run B(b); }
  a!8 }
