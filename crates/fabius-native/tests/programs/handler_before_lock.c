// A handler that runs while its thread is about to take a lock gives others time to take it: nobody gets a lock twice.
// expect: verified
// slow: many executions, each in a process of its own
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int steps;
static int inside;
static void handler(int signal) { steps += signal > 0; }
static void *takes(void *unused) {
    pthread_mutex_lock(&mutex);
    assert(inside++ == 0);
    steps++;
    inside--;
    pthread_mutex_unlock(&mutex);
    return unused;
}
int main(void) {
    pthread_t one, two;
    signal(SIGUSR1, handler);
    pthread_create(&one, 0, takes, 0);
    pthread_create(&two, 0, takes, 0);
    pthread_kill(one, SIGUSR1);
    pthread_join(one, 0);
    pthread_join(two, 0);
}
