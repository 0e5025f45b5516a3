// To wait for a signal is a place where a thread can be cancelled.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static void *pauses(void *unused) {
    pause();
    return unused;
}
static void *waits(void *unused) {
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigwait(&set, &signal);
    return unused;
}
int main(void) {
    pthread_t a, b;
    void *result;
    pthread_create(&a, NULL, pauses, NULL);
    pthread_create(&b, NULL, waits, NULL);
    pthread_cancel(a);
    pthread_cancel(b);
    pthread_join(a, &result);
    assert(result == PTHREAD_CANCELED);
    pthread_join(b, &result);
    assert(result == PTHREAD_CANCELED);
}
