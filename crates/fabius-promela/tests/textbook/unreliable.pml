/* ok */
mtype = { data, ack };
chan c = [1] of { mtype, bit };
chan d = [1] of { mtype, bit };
byte rcv;
active proctype lossy() { do :: c?data,_ :: d?ack,_ od }
active proctype S() { bit b, x; do :: c!data,b; if :: d?ack,x -> if :: x == b -> b = !b :: else fi :: !(d?[ack,0]) && !(d?[ack,1]) -> skip fi od }
active proctype R() { bit b, e; do :: c?data,b -> if :: b == e -> rcv = (rcv + 1) % 2; e = !e :: else fi; d!ack,b od }
ltl gets { <> (rcv == 1) } /* bug */
ltl weak { (rcv == 0) W (rcv == 1) } /* ok */
