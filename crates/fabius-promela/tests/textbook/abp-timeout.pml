/* ok */
mtype = { msg, ack };
chan s2r = [1] of { mtype, bit, byte };
chan r2s = [1] of { mtype, bit };
active proctype sender() {
  bit b = 0, r; byte n = 0;
  do
  :: s2r!msg,b,n ->
     if
     :: r2s?ack,r -> if :: r == b -> b = 1 - b; n = (n + 1) % 3 :: else fi
     :: timeout
     fi
  od }
active proctype receiver() {
  bit b, want = 0; byte n, expect = 0;
  do
  :: s2r?msg,b,n ->
     if :: b == want -> assert(n == expect); expect = (expect + 1) % 3; want = 1 - want :: else fi;
     if :: r2s!ack,b :: skip fi
  :: s2r?msg,b,n -> skip
  od }
