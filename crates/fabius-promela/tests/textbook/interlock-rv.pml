/* ok */
chan a = [0] of { byte }; chan b = [0] of { byte }; byte x, y;
active proctype P() { byte t; do :: atomic { x = (x + 1) % 3; a!x }; b?t; assert(t == x) od }
active proctype Q() { byte t; do :: a?t; y = t; b!t od }
ltl same { [] (x == y || x == (y + 1) % 3) } /* ok */
ltl trails { [] (x == 1 -> (x == 1 U y == 1)) } /* ok */
