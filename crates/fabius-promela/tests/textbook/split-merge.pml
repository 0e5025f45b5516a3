/* ok */
#define size 4
chan name1 = [size] of { short }; chan name2 = [size] of { short }; chan in = [size] of { short };
byte kount;
proctype split() { short cargo;
  do :: in?cargo -> if :: (cargo >= 512) -> name1!cargo :: (cargo < 512) -> name2!cargo fi od }
proctype merge() { short cargo;
  do :: if :: name1?cargo :: name2?cargo fi; in!cargo od }
init { in!345; in!777; run split(); run merge() }
