// A signal may not come while it is blocked.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <signal.h>
static volatile sig_atomic_t flag;
static void handler(int signal) { assert(flag == 0); }
static void *works(void *unused) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    flag = 1;
    flag = 0;
    pthread_sigmask(SIG_UNBLOCK, &set, 0);
    return unused;
}
int main(void) {
    pthread_t thread;
    signal(SIGUSR1, handler);
    pthread_create(&thread, 0, works, 0);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, 0);
}
