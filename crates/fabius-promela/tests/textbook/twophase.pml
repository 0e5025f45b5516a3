/* ok */
#define N 2
mtype = { prepare, yes, no, commit, abort };
chan toP[N] = [1] of { mtype }; chan toC = [N] of { mtype };
byte committed, aborted;
active proctype coord() { byte i, y; mtype m;
  for (i : 0 .. N-1) { toP[i]!prepare }
  for (i : 0 .. N-1) { toC?m; if :: m == yes -> y++ :: else fi }
  for (i : 0 .. N-1) { if :: y == N -> toP[i]!commit :: else -> toP[i]!abort fi } }
proctype part(byte i) { mtype m;
  toP[i]?prepare; if :: toC!yes :: toC!no fi;
  toP[i]?m; if :: m == commit -> committed++ :: else -> aborted++ fi;
  assert(committed == 0 || aborted == 0) }
active proctype starter() { atomic { run part(0); run part(1) } }
ltl fin { <> (committed == N || aborted == N) } /* ok */
ltl agree { [] !(committed > 0 && aborted > 0) } /* ok */
