/* bug */
#define N 3
chan fork[N] = [0] of { bool };
byte eating;
active [N] proctype philo() {
  do
  :: fork[_pid]?true; fork[(_pid+1)%N]?true;
     eating++; assert(eating <= 1); eating--;
     fork[_pid]!true; fork[(_pid+1)%N]!true
  od }
active [N] proctype holder() {
  do :: fork[_pid - N]!true; fork[_pid - N]?true od }
