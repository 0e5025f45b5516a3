/* ok */
mtype = { P, C };
mtype turn = P;
byte made, used;
inline request(x, y, a) { atomic { x == y -> x = a } }
inline release(x, y) { atomic { x = y } }
mtype who;
active [2] proctype producer() {
  do :: request(turn, P, 0); who = P; made = (made + 1) % 4; release(turn, C) od }
active proctype consumer() {
  do :: request(turn, C, 0); assert(who == P); used = (used + 1) % 4; assert(used == made); release(turn, P) od }
ltl alive { [] <> (turn == P) } /* ok */
