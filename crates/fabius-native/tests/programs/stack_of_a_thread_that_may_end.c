// The thread waits for `main`, but not until `main` has used its variable.
// expect: bug memory 1
#include <pthread.h>
#include <semaphore.h>
static sem_t ready, go;
static int *lent;
static void *lends(void *unused) {
    int x = 0;
    lent = &x;
    sem_post(&ready);
    sem_wait(&go);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, lends, 0);
    sem_wait(&ready);
    sem_post(&go);
    *lent = 1;
    pthread_join(thread, 0);
}
