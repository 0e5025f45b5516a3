/* ok */
chan c = [1] of { byte }; byte lost;
active proctype S() { byte n; do :: n < 3 -> c!n; n++ :: n == 3 -> break od }
active proctype R() { byte x; do :: c?x :: timeout -> lost = 1; break od; assert(x == 2) }
