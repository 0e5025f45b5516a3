/* ok */
chan c[2] = [0] of { byte }; byte got[2];
active [2] proctype S() { byte n; do :: n < 2 -> c[_pid]!n; n++ :: else -> break od }
active proctype R() { byte v; byte k; do :: k == 4 -> break :: c[0]?v -> got[0] = v; k++ :: c[1]?v -> got[1] = v; k++ od; assert(got[0] == 1 && got[1] == 1) }
ltl fin { <> (got[0] == 1 && got[1] == 1) } /* ok */
