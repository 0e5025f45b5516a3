/* ok */
chan intr = [1] of { bit }; byte work; bool stopped;
active proctype worker() { do :: work < 5 -> work++ :: else -> work = 0 od unless { intr?1 -> stopped = true } }
active proctype irq() { intr!1 }
ltl st { [] (stopped -> [] stopped) } /* ok */
ltl ev { <> stopped } /* bug */
