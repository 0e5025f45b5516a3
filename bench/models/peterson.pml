/* Peterson's filter lock for N processes that compete for ever; the same steps as peterson.fab. */
#ifndef N
#define N 3
#endif
byte floor_[N]; byte last[N]; byte inside;

#define CLIMB   l++; if :: l < N -> goto enter :: else -> goto critical fi

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
       if :: k < N -> goto look :: else -> CLIMB fi
    :: else
    fi
  };
  atomic {
    seen = last[l];
    if :: seen == me -> goto look :: else -> CLIMB fi
  };
critical:
  atomic { inside++; assert(inside == 1) };
  inside = 0;
  atomic { floor_[me] = 0; l = 1; goto enter }
}
init { byte i; atomic { do :: i < N -> run compete(i); i++ :: else -> break od } }
