/* bug */
mtype = { ack, nak, err, next, accept };
chan AtoB = [1] of { mtype, byte };
chan BtoA = [1] of { mtype, byte };
chan Ain = [2] of { mtype, byte }; chan Bin = [2] of { mtype, byte };
chan Aout = [2] of { mtype, byte }; chan Bout = [2] of { mtype, byte };
proctype transfer(chan chin, chout, inp, outp) {
  byte o, i;
  inp?next(o);
  do
  :: chin?nak(i) -> outp!accept(i); chout!ack(o)
  :: chin?ack(i) -> outp!accept(i); inp?next(o); chout!ack(o)
  :: chin?err(i) -> chout!nak(o)
  od }
init { byte k;
  atomic { run transfer(AtoB, BtoA, Ain, Aout); run transfer(BtoA, AtoB, Bin, Bout) };
  Ain!next(1); Bin!next(11); AtoB!err(0);
  Ain!next(2); Bin!next(12);
  do :: Aout?accept(k) -> assert(k == 11 || k == 12 || k == 0) :: Bout?accept(k) od }
