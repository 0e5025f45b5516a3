// A signal may come behind the last call of a thread.
// expect: bug assertion 1
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
static sem_t last;
static atomic_int handled;
static void handler(int signal) { handled = 1; }
static void *works(void *unused) {
    sem_post(&last);
    return unused;
}
int main(void) {
    pthread_t thread;
    sem_init(&last, 0, 0);
    signal(SIGUSR1, handler);
    pthread_create(&thread, 0, works, 0);
    sem_wait(&last);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, 0);
    assert(!handled);
}
