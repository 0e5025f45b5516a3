/* ok */
#define N 3
bool fork[N]; byte eat;
active [N] proctype philo() {
  byte a = _pid; byte b = (_pid + 1) % N;
  if :: a > b -> byte t = a; a = b; b = t :: else fi;
  do :: atomic { !fork[a] -> fork[a] = 1 }; atomic { !fork[b] -> fork[b] = 1 };
     eat++; eat--; fork[b] = 0; fork[a] = 0 od }
ltl sometimes { <> (eat > 0) } /* ok */
ltl again { [] (eat > 0 -> (<> (eat == 0) && (eat > 0 U eat == 0))) } /* ok */
