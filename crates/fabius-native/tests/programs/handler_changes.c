// A signal may come before it is ignored, and while `flag` is set.
// expect: bug assertion 2
#include <assert.h>
#include <pthread.h>
#include <signal.h>
static int flag;
static void handler(int signal) { assert(*(volatile int *)&flag == 0); }
static void *works(void *unused) {
    flag = 1;
    signal(SIGUSR1, SIG_IGN);
    flag = 0;
    return unused;
}
int main(void) {
    pthread_t thread;
    signal(SIGUSR1, handler);
    pthread_create(&thread, 0, works, 0);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, 0);
}
