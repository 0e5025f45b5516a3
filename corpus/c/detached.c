// The process ends with `main`, but what a thread does before that counts.
// expect: bug assertion cost 1
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static int ready;
static sem_t made;

static void *reader(void *unused) {
#ifdef FIXED
    sem_wait(&made);
    assert(ready);
#else
    assert(sem_trywait(&made) == 0);
#endif
    return NULL;
}

int main(void) {
    pthread_t t;
    sem_init(&made, 0, 0);
    pthread_create(&t, NULL, reader, NULL);
    pthread_detach(t);
    ready = 1;
    sem_post(&made);
    return 0;
}
