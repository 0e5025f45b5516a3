/* Peterson's filter lock for N processes that compete for ever; the same steps as peterson.fab. What is dead is set
   back to 0, as Fabius does by itself. */
#ifndef N
#define N 3
#endif
byte floor_[N]; byte last[N]; byte inside;

#define CLIMB   k = 0; seen = 0; l++; if :: l < N -> goto enter :: else -> l = 0; goto critical fi

proctype compete(byte me) {
  byte l = 1, k, seen;
enter:
  floor_[me] = l;
  atomic { last[l] = me; k = 0; if :: k == me -> k++ :: else fi };
look:
  atomic {
    seen = floor_[k];
    if
    :: seen < l ->
       k++;
       if :: k == me -> k++ :: else fi;
       if :: k < N -> seen = 0; goto look :: else -> CLIMB fi
    :: else -> seen = 0
    fi
  };
  atomic {
    seen = last[l];
    if :: seen == me -> seen = 0; goto look :: else -> CLIMB fi
  };
critical:
  atomic { inside++; assert(inside == 1) };
  inside = 0;
  atomic { floor_[me] = 0; l = 1; goto enter }
}
init { byte i; atomic { do :: i < N -> run compete(i); i++ :: else -> break od } }
