/* ok */
mtype = { ho_cmd, ho_com, ho_acc, ho_fail, ch_rel, data, white, red, blue };
chan in = [1] of { mtype };
chan out = [1] of { mtype };
chan fa = [0] of { chan };
chan fp = [0] of { chan };
chan m1 = [0] of { mtype };
chan m2 = [0] of { mtype };
chan l = [0] of { byte };
byte a_id, p_id;
proctype CC() {
  mtype v;
  do
  :: in?v; printf("MSC: DATA\n"); out!v
  od
}
init { atomic { run CC(); }
  do :: in!white :: in!red :: out?white :: out?red od }
