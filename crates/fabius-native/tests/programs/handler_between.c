// A handler comes between two accesses that are no scheduling points, but for the handler.
// In C without extensions `signal` is another function.
// flags: -std=c11 -D_POSIX_C_SOURCE=200809L
// expect: bug assertion 2
#include <assert.h>
#include <pthread.h>
#include <signal.h>
static int flag;
static void handler(int signal) { assert(flag == 0); }
static void *works(void *unused) {
    flag = 1;
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
