// A handled alarm comes at any time: also between the question whether it has come and the wait for it.
// expect: bug deadlock 1

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t rang;

static void ring(int signal) {
    rang = signal;
}

int main(void) {
    signal(SIGALRM, ring);
    alarm(1);
    if (!rang) pause();
    return 0;
}
