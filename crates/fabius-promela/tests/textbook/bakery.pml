/* ok */
#define N 2
#define M 4
byte num[N]; bool choosing[N]; byte cs;
active [N] proctype p() {
  byte j, mx;
  do ::
    choosing[_pid] = true;
    mx = 0; j = 0;
    do :: j < N -> if :: num[j] > mx -> mx = num[j] :: else fi; j++ :: else -> break od;
    if :: mx >= M -> choosing[_pid] = false; goto skipit :: else fi;
    num[_pid] = mx + 1; choosing[_pid] = false;
    j = 0;
    do :: j < N ->
       !choosing[j];
       (num[j] == 0 || num[j] > num[_pid] || (num[j] == num[_pid] && j >= _pid));
       j++
    :: else -> break od;
    cs++; assert(cs == 1); cs--;
    num[_pid] = 0;
skipit: skip
  od }
