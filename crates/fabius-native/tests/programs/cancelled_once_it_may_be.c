// Who was asked to end while it let nobody ask ends as soon as it lets them, if it wants to be cancelled at any time.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
static sem_t begun, asked;
static int cleaned, went_on;
static void clean(void *unused) { cleaned = 1; }
static void *works(void *unused) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
    pthread_cleanup_push(clean, 0);
    sem_post(&begun);
    sem_wait(&asked);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, 0);
    went_on = 1;
    pthread_cleanup_pop(0);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, works, 0);
    sem_wait(&begun);
    pthread_cancel(thread);
    sem_post(&asked);
    pthread_join(thread, 0);
    assert(cleaned && !went_on);
}
