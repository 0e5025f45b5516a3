/* ok */
proctype Euclid(int x, y) {
  do :: (x > y) -> x = x - y
     :: (x < y) -> y = y - x
     :: (x == y) -> goto done od;
done: assert(x == 12) }
init { run Euclid(36, 24) }
