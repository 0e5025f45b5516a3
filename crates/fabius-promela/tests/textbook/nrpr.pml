/* ok */
byte n;
proctype child(byte d) { if :: d > 0 -> run child(d - 1); n++ :: else -> n++ fi }
init { run child(2); (_nr_pr == 1); assert(n == 3) }
