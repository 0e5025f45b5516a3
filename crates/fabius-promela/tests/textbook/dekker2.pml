/* ok */
byte turn = 1;
bool wantp = false, wantq = false;
byte critical = 0;
active proctype p() {
    do :: wantp = true;
          do :: !wantq -> break
             :: else ->
                if :: (turn == 1)
                   :: (turn == 2) -> wantp = false; (turn == 1); wantp = true
                fi
          od;
csp:      critical++; assert (critical <= 1); critical--;
          turn = 2; wantp = false
    od
}
active proctype q() {
    do :: wantq = true;
          do :: !wantp -> break
             :: else ->
                if :: (turn == 2)
                   :: (turn == 1) -> wantq = false; (turn == 2); wantq = true
                fi
          od;
csq:      critical++; assert (critical <= 1); critical--;
          turn = 1; wantq = false
    od
}
ltl nostarve { [] (wantp -> <> p@csp) } /* bug */
ltl mutex { [] !(p@csp && q@csq) } /* ok */
ltl order { [] (p@csp -> (!q@csq W (turn == 2))) } /* ok */
