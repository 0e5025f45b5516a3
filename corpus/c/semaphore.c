// A queue with two semaphores; two producers need a lock besides.
// expect: bug assertion cost 1
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { SIZE = 2 };

static atomic_int items[SIZE], head;
static sem_t room, filled;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *producer(void *arg) {
    sem_wait(&room);
#ifdef FIXED
    pthread_mutex_lock(&lock);
#endif
    int at = head;
    items[at % SIZE] = (int)(long)arg;
    head = at + 1;
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
    sem_post(&filled);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    sem_init(&room, 0, SIZE);
    sem_init(&filled, 0, 0);
    pthread_create(&a, NULL, producer, (void *)1L);
    pthread_create(&b, NULL, producer, (void *)2L);
    sem_wait(&filled);
    sem_wait(&filled);
    assert(items[0] + items[1] == 3);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
