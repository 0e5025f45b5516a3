/* ok */
byte x, y;
active [2] proctype P() {
again: atomic { x < 2 -> x++; if :: y == 0 -> goto out :: else -> skip fi; y-- };
  x--;
out: y = 1; if :: x == 2 -> goto fin :: else -> goto again fi;
fin: skip }
ltl b { [] (x <= 2) } /* ok */
ltl e { <> (y == 1) } /* ok */
ltl w { (y == 0) W (x > 0) } /* ok */
