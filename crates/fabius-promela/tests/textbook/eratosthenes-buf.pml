/* bug */
#define MAX 8
chan root = [1] of { byte };
byte primes;
proctype sieve(chan c) {
  chan child = [1] of { byte };
  byte prime, n; bool has;
  c?prime; primes++;
end: do
  :: c?n -> if :: n % prime == 0 :: else -> if :: !has -> has = 1; run sieve(child) :: else fi; child!n fi
  od }
init { byte n = 2; run sieve(root);
  do :: n < MAX -> root!n; n++ :: else -> break od;
  end: primes == 4; assert(primes == 4); primes == 5; assert(false) }
