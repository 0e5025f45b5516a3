/* bug */
mtype = { r, w, raw, RD, WR, RX, MX, MXdone, req0, req1, CtoB, BtoC, grant, done };
chan tocpu0 = [0] of { mtype };
chan fromcpu0 = [0] of { mtype };
chan tobus0 = [0] of { mtype };
chan frombus0 = [0] of { mtype };
chan grant0 = [0] of { mtype };
chan tocpu1 = [0] of { mtype };
chan fromcpu1 = [0] of { mtype };
chan tobus1 = [0] of { mtype };
chan frombus1 = [0] of { mtype };
chan grant1 = [0] of { mtype };
chan claim0 = [0] of { mtype };
chan claim1 = [0] of { mtype };
chan release0 = [0] of { mtype };
chan release1 = [0] of { mtype };
#define W 1
#define R 2
#define X 3
proctype cpu0() {
  do :: fromcpu0!r -> tocpu0?done
     :: fromcpu0!w -> tocpu0?done od }
proctype cpu1() {
  do :: fromcpu1!r -> tocpu1?done
     :: fromcpu1!w -> tocpu1?done od }
proctype cache0() {
  byte state = X; byte which;
resume:
  do
  :: frombus0?RD -> if :: (state == W) -> state = R; tobus0!CtoB :: (state != W) -> tobus0!done fi
  :: frombus0?MX -> state = X; tobus0!MXdone
  :: frombus0?RX -> if :: (state == W) -> state = X; tobus0!CtoB :: (state == R) -> state = X; tobus0!done :: (state == X) -> tobus0!done fi
  :: fromcpu0?r -> if :: (state != X) -> tocpu0!done :: (state == X) -> which = RD; goto buscycle fi
  :: fromcpu0?w -> if :: (state == W) -> tocpu0!done :: (state != W) -> which = MX; goto buscycle fi
  od;
buscycle:
  claim0!req0;
  do
  :: frombus0?RD -> if :: (state == W) -> state = R; tobus0!CtoB :: (state != W) -> tobus0!done fi
  :: frombus0?MX -> state = X; tobus0!MXdone
  :: frombus0?RX -> state = X; tobus0!done
  :: grant0?grant ->
     if :: (which == RD) -> state = R :: (which == MX) -> state = W fi;
     tocpu0!done; release0!done; break
  od;
  goto resume
}
proctype cache1() {
  byte state = X; byte which;
resume:
  do
  :: frombus1?RD -> if :: (state == W) -> state = R; tobus1!CtoB :: (state != W) -> tobus1!done fi
  :: frombus1?MX -> state = X; tobus1!MXdone
  :: fromcpu1?r -> if :: (state != X) -> tocpu1!done :: (state == X) -> which = RD; goto buscycle fi
  :: fromcpu1?w -> if :: (state == W) -> tocpu1!done :: (state != W) -> which = MX; goto buscycle fi
  od;
buscycle:
  claim1!req1;
  do
  :: frombus1?RD -> if :: (state == W) -> state = R; tobus1!CtoB :: (state != W) -> tobus1!done fi
  :: frombus1?MX -> state = X; tobus1!MXdone
  :: grant1?grant ->
     if :: (which == RD) -> state = R :: (which == MX) -> state = W fi;
     tocpu1!done; release1!done; break
  od;
  goto resume
}
proctype busarbiter() {
  do
  :: claim0?req0 -> frombus1!RD; if :: tobus1?CtoB :: tobus1?done fi; grant0!grant; release0?done
  :: claim1?req1 -> frombus0!MX; tobus0?MXdone; grant1!grant; release1?done
  od
}
init { atomic { run cpu0(); run cpu1(); run cache0(); run cache1(); run busarbiter() } }
