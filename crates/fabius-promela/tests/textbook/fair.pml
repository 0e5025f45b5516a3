/* ok */
byte x;
active proctype A() { do :: x == 0 -> x = 1 :: x == 2 -> x = 0 od }
active proctype B() { do :: x == 1 -> x = 2 od }
ltl a { [] <> (x == 2) } /* ok */
ltl b { [] ((x == 1) U ((x == 2) || (x == 0) || (x == 1))) } /* ok */
ltl c { (x == 0) W (x == 1) } /* ok */
ltl d { [] ((x == 1) -> ((x == 1) U (x == 2))) } /* ok */
ltl e { [] ((x == 2) -> ((x == 2) U (x == 1))) } /* bug */
