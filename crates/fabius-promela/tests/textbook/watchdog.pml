/* ok */
bool up = 1; byte cnt;
active proctype sys() { do :: up -> if :: skip :: up = 0 fi :: !up -> up = 1; cnt = (cnt + 1) % 3 od }
active proctype wd() { do :: timeout -> assert(up) od }
