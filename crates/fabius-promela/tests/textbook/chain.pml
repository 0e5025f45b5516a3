/* bug */
#define N 4
chan c[N] = [1] of { byte };
byte fin;
proctype fwd(byte i) { byte v; do :: c[i]?v -> if :: i + 1 < N -> c[i+1]!v+1 :: else -> fin = v; break fi od }
init { byte i; atomic { for (i : 0 .. N-1) { run fwd(i) } } c[0]!0; fin == 3; assert(fin == 3) }
