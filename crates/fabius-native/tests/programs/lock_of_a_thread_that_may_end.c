// A thread has a mutex on its stack; who has locked it gives it back when the thread may have ended.
// expect: bug memory 1
#include <pthread.h>
#include <semaphore.h>
static sem_t ready, go;
static pthread_mutex_t *lent;
static void *lends(void *unused) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    lent = &lock;
    sem_post(&ready);
    sem_wait(&go);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, lends, 0);
    sem_wait(&ready);
    pthread_mutex_lock(lent);
    sem_post(&go);
    pthread_mutex_unlock(lent);
    pthread_join(thread, 0);
}
