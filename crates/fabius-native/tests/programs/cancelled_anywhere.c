// Who wants to be cancelled at any time may end between any two steps.
// expect: bug assertion 1
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
static sem_t begun;
static atomic_int first, second;
static void *works(void *unused) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
    sem_post(&begun);
    first = 1;
    second = 1;
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, works, 0);
    sem_wait(&begun);
    pthread_cancel(thread);
    pthread_join(thread, 0);
    assert(first == second);
}
