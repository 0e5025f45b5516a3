/* Leader election in a ring (Chang and Roberts) over channels of one message; the same steps as leader.fab. */
#ifndef N
#define N 7
#endif
byte channel[N]; byte leaders;

proctype node(byte me; byte number; byte right) {
  byte message = number;
send:
  atomic { channel[right] == 0 -> channel[right] = message };
receive:
  atomic {
    channel[me] != 0 -> message = channel[me]; channel[me] = 0;
    if :: message == number -> goto won :: message > number -> goto send :: else -> goto receive fi
  };
won:
  atomic { leaders++; assert(leaders == 1 && number == N) };
end_done:
  false
}
init { byte i; atomic { do :: i < N -> run node(i, (i * 4) % N + 1, (i + 1) % N); i++ :: else -> break od } }
