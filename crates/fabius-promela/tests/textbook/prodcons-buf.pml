/* ok */
#define SIZE 3
byte buf[SIZE], in, out, count; byte nextp, nextc;
active proctype producer() {
  do :: atomic { count < SIZE -> buf[in] = nextp; in = (in + 1) % SIZE; count++ ; nextp = (nextp + 1) % 8 } od }
active proctype consumer() { byte x;
  do :: atomic { count > 0 -> x = buf[out]; out = (out + 1) % SIZE; count-- }; assert(x == nextc); nextc = (nextc + 1) % 8 od }
ltl bounded { [] (count <= SIZE) } /* ok */
ltl fills { <> (count == SIZE) } /* bug */
