/* ok */
#define N 4
chan ring[N] = [1] of { byte };
bool cs[N];
byte n;
active [N] proctype station() {
  byte tok;
  if :: _pid == 0 -> ring[0]!1 :: else fi;
  do :: ring[_pid]?tok; cs[_pid] = true; n++; assert(n == 1); n--; cs[_pid] = false; ring[(_pid+1)%N]!tok od }
ltl each { [] <> cs[2] } /* ok */
ltl mutex { [] !(cs[0] && cs[1]) } /* ok */
ltl turnorder { [] (cs[0] -> (!cs[2] U cs[1]) || !cs[2]) } /* ok */
