// Who wants to be cancelled at any time ends while it waits for a mutex. Between its steps it was not, and that is said.
// expect: bounded
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
static sem_t begun;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *waits(void *unused) {
    int before;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
    assert(before == PTHREAD_CANCEL_DEFERRED);
    sem_post(&begun);
    pthread_mutex_lock(&mutex);
    return unused;
}
int main(void) {
    pthread_t thread;
    void *result;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, 0, waits, 0);
    sem_wait(&begun);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    assert(result == PTHREAD_CANCELED);
}
