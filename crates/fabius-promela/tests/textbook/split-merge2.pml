/* ok */
#define size 4
chan name1 = [size] of { short }; chan name2 = [size] of { short }; chan in = [size] of { short };
proctype split() { short cargo;
end:  do :: in?cargo -> if :: (cargo >= 512) -> name1!cargo :: (cargo < 512) -> name2!cargo fi od }
proctype merge() { short cargo; byte n;
  do :: n < 2 -> if :: name1?cargo -> assert(cargo >= 512) :: name2?cargo -> assert(cargo < 512) fi; n++ :: else -> break od }
init { in!345; in!777; atomic { run split(); run merge() } }
