/* ok */
mtype = { open, close, connect, confirm, disconnect, data, ack };
chan use_to_pres = [1] of { mtype };
chan pres_to_use = [1] of { mtype };
chan pres_to_ses = [1] of { mtype };
chan ses_to_pres = [1] of { mtype };
byte opened;
active proctype user() {
  do
  :: use_to_pres!open;
     if
     :: pres_to_use?confirm -> opened++; assert(opened == 1);
        do :: use_to_pres!data; pres_to_use?ack
           :: break od;
        opened--;
        use_to_pres!close; pres_to_use?close
     :: pres_to_use?disconnect
     fi
  od
}
active proctype present() {
Idle:
  use_to_pres?open; pres_to_ses!connect;
  if :: ses_to_pres?confirm -> pres_to_use!confirm
     :: ses_to_pres?disconnect -> pres_to_use!disconnect; goto Idle fi;
Data:
  if :: use_to_pres?data -> pres_to_ses!data; ses_to_pres?ack; pres_to_use!ack; goto Data
     :: use_to_pres?close -> pres_to_ses!disconnect; ses_to_pres?disconnect; pres_to_use!close; goto Idle
  fi
}
active proctype session() {
  do
  :: pres_to_ses?connect ->
     if :: ses_to_pres!confirm;
           do :: pres_to_ses?data -> ses_to_pres!ack
              :: pres_to_ses?disconnect -> ses_to_pres!disconnect; break od
        :: ses_to_pres!disconnect
     fi
  od
}
ltl alw { [] (opened == 1 -> (opened == 1 W opened == 0)) } /* ok */
