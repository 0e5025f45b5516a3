/* ok */
byte floor; bool req[3]; mtype = { up, down }; mtype dir = up;
active proctype user() { byte f; do :: select (f : 0 .. 2); req[f] = true od }
active proctype lift() {
  do
  :: d_step { req[floor] -> req[floor] = false }
  :: !req[floor] && dir == up && floor < 2 -> floor++
  :: !req[floor] && dir == up && floor == 2 -> dir = down
  :: !req[floor] && dir == down && floor > 0 -> floor--
  :: !req[floor] && dir == down && floor == 0 -> dir = up
  od }
ltl served { [] (req[1] -> <> (floor == 1)) } /* bug */
ltl moves { [] <> (floor == 2) || <> [] (floor < 2) } /* ok */
