/* ok */
#define N 3
byte st[N], sp; chan lock = [1] of { bit };
byte popped;
inline acquire() { lock?1 }
inline rel() { lock!1 }
active proctype ini() { lock!1 }
active [2] proctype push() { acquire(); st[sp] = _pid; sp++; rel() }
active [2] proctype pop() { byte x; atomic { sp > 0 && lock?[1] -> lock?1 }; sp--; x = st[sp]; popped++; lock!1; assert(x == 1 || x == 2) }
ltl all { <> (popped == 2) } /* ok */
