/* ok */
#define N 2
byte tail = 255; byte nxt[N] = 255; bool locked[N]; byte cs;
active [N] proctype t() { byte pred; byte k;
  do :: k < 2 ->
    nxt[_pid] = 255;
    atomic { pred = tail; tail = _pid };
    if :: pred != 255 -> locked[_pid] = true; nxt[pred] = _pid; !locked[_pid] :: else fi;
    cs++; assert(cs == 1); cs--;
    if
    :: nxt[_pid] == 255 -> if :: atomic { tail == _pid -> tail = 255 } :: else -> nxt[_pid] != 255; locked[nxt[_pid]] = false fi
    :: else -> locked[nxt[_pid]] = false
    fi;
    k++
  :: else -> break od }
