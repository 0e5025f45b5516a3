/* ok */
#define W 2
#define S 3
chan data = [2] of { byte, byte };
chan acks = [2] of { byte };
active proctype send() {
  byte base, next, a; byte cnt;
  do
  :: cnt < W -> data!next,next; next = (next + 1) % S; cnt++
  :: acks?a -> if :: a == base -> base = (base + 1) % S; cnt-- :: else fi
  od }
active proctype recv() {
  byte s, d, expect;
  do
  :: data?s,d -> if :: s == expect -> assert(d == expect); acks!s; expect = (expect + 1) % S :: else -> acks!s fi
  od }
