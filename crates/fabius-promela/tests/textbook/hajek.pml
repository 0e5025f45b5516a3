/* ok */
mtype = { red, white, blue };
chan ch = [2] of { mtype };
active proctype S() { bool r, b;
  do :: ch!white :: !r -> ch!red; r = 1 :: r && !b -> ch!blue; b = 1 od }
active proctype R() { mtype m; bool r;
  do :: ch?m -> if :: m == red -> assert(!r); r = 1 :: m == blue -> assert(r) :: else fi od }
