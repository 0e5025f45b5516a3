/* ok */
mtype = { p, v };
chan sema = [0] of { mtype };
byte n;
active proctype dijkstra() { byte count = 1;
end:	do
	:: (count == 1) -> sema!p; count = 0
	:: (count == 0) -> sema?v; count = 1
	od }
active [3] proctype user() {
	do :: sema?p; n++; assert(n == 1); n--; sema!v od }
ltl never2 { [] (n < 2) } /* ok */
ltl live { [] <> (n == 1) } /* ok */
