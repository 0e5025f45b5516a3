/* ok */
byte in[6]; byte nl, nw, nc;
active proctype wc() {
  byte i; bool inword;
  in[0] = 97; in[1] = 32; in[2] = 98; in[3] = 10; in[4] = 99; in[5] = 0;
  do
  :: in[i] == 0 -> break
  :: else ->
     nc++;
     if :: in[i] == 10 -> nl++ :: else fi;
     if :: in[i] == 32 || in[i] == 10 -> inword = 0
        :: else -> if :: !inword -> nw++; inword = 1 :: else fi fi;
     i++
  od;
  assert(nl == 1 && nw == 3 && nc == 5) }
