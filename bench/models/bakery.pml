/* Lamport's bakery for N customers with M tickets; the same steps as bakery.fab. What is dead is set back
   to 0, as Fabius does by itself. */
#ifndef N
#define N 3
#endif
#ifndef M
#define M 20
#endif
bool choosing[N]; byte number[N]; byte inside;

#define SKIP_ME if :: j == me -> j++ :: else fi
#define NEXT if :: j < N -> goto wait :: else -> j = 0; most = 0; goto critical fi

proctype customer(byte me) {
  byte j, most, seen;
again:
  atomic { choosing[me] = true; most = 0; j = 0 };
draw:
  atomic {
    seen = number[j];
    if :: seen > most -> most = seen :: else fi;
    seen = 0;
    j++;
    if :: j < N -> goto draw :: j >= N && most < M -> j = 0; goto take :: else -> j = 0; most = 0; goto giveup fi
  };
take:
  number[me] = most + 1;
  atomic { choosing[me] = false; j = 0; SKIP_ME; NEXT };
wait:
  !choosing[j];
  atomic {
    number[j] == 0 || most + 1 < number[j] || (most + 1 == number[j] && me < j) -> j++;
    SKIP_ME; NEXT
  };
critical:
  atomic { inside++; assert(inside == 1) };
  inside = 0;
  atomic { number[me] = 0; goto again };
giveup:
  atomic { choosing[me] = false; goto again }
}
init { byte i; atomic { do :: i < N -> run customer(i); i++ :: else -> break od } }
