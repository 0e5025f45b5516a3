/* ok */
#define MAX 7
mtype = { number, eof };
chan root = [0] of { mtype, byte };
byte primes;
proctype sieve(chan c; byte prime) {
  chan child = [0] of { mtype, byte };
  bool haschild; byte n;
  printf("%d is prime\n", prime); primes++;
end: do
  :: c?number(n) ->
     if
     :: (n % prime) == 0
     :: else ->
        if
        :: !haschild -> haschild = true; run sieve(child, n)
        :: else -> child!number(n)
        fi
     fi
  :: c?eof(0) -> if :: haschild -> child!eof(0) :: else fi; break
  od }
init {
  byte n = 2;
  run sieve(root, n); n++;
  do :: n < MAX -> root!number(n); n++
     :: n >= MAX -> root!eof(0); break od;
  assert(primes >= 1)
}
