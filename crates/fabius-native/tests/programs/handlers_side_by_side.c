// Each thread runs the handler of its own signal, also while another one is in the middle of the same handler.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
static __thread int me;
static atomic_int handled[3];
static void handle(int signal, siginfo_t *about, void *context) {
    assert(about->si_signo == signal);
    handled[me]++;
}
static void *run(void *number) {
    me = (int)(long)number;
    raise(SIGUSR1);
    assert(handled[me] == 1);
    return 0;
}
int main(void) {
    pthread_t a, b;
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&a, 0, run, (void *)1);
    pthread_create(&b, 0, run, (void *)2);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
