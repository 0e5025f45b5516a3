/* Dining philosophers, the last one takes the forks the other way round; the same steps as philosophers.fab. */
#ifndef N
#define N 8
#endif
bool fork_[N];

proctype dine(byte first; byte second) {
  do
  :: atomic { !fork_[first] -> fork_[first] = true };
     atomic { !fork_[second] -> fork_[second] = true };
     fork_[second] = false;
     fork_[first] = false
  od
}
init { byte i; atomic { do :: i < N - 1 -> run dine(i, i + 1); i++ :: else -> break od; run dine(0, N - 1) } }
