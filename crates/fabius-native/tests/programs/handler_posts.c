// A handler runs in a thread that waits, and may end the waiting.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
static sem_t up;
static volatile int handled;
static void handler(int signal) {
    handled = signal;
    sem_post(&up);
}
static void *waits(void *unused) {
    while (sem_wait(&up)) {}
    assert(handled == SIGUSR1);
    return unused;
}
int main(void) {
    pthread_t thread;
    sem_init(&up, 0, 0);
    signal(SIGUSR1, handler);
    pthread_create(&thread, 0, waits, 0);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, 0);
}
