/* ok */
mtype = { busy, idle, resp };
chan slot[3] = [1] of { mtype, byte };
byte got;
active [3] proctype station() {
  mtype m; byte who; bool sent;
  if :: _pid == 0 -> slot[0]!idle(9) :: else fi;
  do
  :: slot[_pid]?m,who ->
    if
    :: m == idle && !sent -> sent = 1; m = busy; who = _pid
    :: m == idle -> skip
    :: m == busy && who == _pid -> m = idle; who = 9; assert(sent); sent = 0; got++
    :: m == busy && who != _pid -> skip
    fi;
    got = got % 2;
    slot[(_pid+1)%3]!m,who
  od }
ltl some { [] <> (got == 1) } /* bug */
