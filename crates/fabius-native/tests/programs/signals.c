// A handler that an execution has set is not there in the next one; a signal reaches the thread that it is for.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
static volatile int got, who;
static __thread int me;
static void handle(int signal) {
    who = me;
    got = signal;
}
static void *wait(void *unused) {
    me = 7;
    while (!got) sched_yield();
    return unused;
}
int main(void) {
    pthread_t thread;
    struct sigaction before;
    sigaction(SIGUSR1, 0, &before);
    assert(before.sa_handler == SIG_DFL);
    signal(SIGUSR1, handle);
    pthread_create(&thread, 0, wait, 0);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, 0);
    assert(who == 7 || who == 0);
}
