/* ok */
#define N 3
byte arrived; byte phase; byte done[N];
active [N] proctype w() { byte my;
  do :: done[_pid] < 2 ->
    my = phase;
    atomic { arrived++; if :: arrived == N -> arrived = 0; phase = 1 - phase :: else fi };
    phase != my;
    done[_pid]++
  :: else -> break od }
ltl near { [] (done[0] <= done[1] + 1) } /* ok */
ltl fin { <> (done[0] == 2 && done[1] == 2 && done[2] == 2) } /* ok */
