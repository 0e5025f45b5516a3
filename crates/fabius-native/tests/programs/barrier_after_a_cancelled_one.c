// A thread that ends while it waits at a barrier waits there no more: the barrier may be made again.
// expect: bounded
#include <pthread.h>
#include <semaphore.h>
static pthread_barrier_t barrier;
static sem_t begun;
static void *waits(void *unused) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
    sem_post(&begun);
    pthread_barrier_wait(&barrier);
    return unused;
}
static void *meets(void *unused) {
    pthread_barrier_wait(&barrier);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&thread, 0, waits, 0);
    sem_wait(&begun);
    pthread_cancel(thread);
    pthread_join(thread, 0);
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&thread, 0, meets, 0);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, 0);
}
