// A pool of two objects, counted by a semaphore: which one is free is looked for without a lock.
// expect: bug assertion cost 2
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

static atomic_int used[2];
static sem_t free_objects;

static int take(void) {
    sem_wait(&free_objects);
    for (int i = 0; i < 2; i++) {
#ifdef FIXED
        int expected = 0;
        if (atomic_compare_exchange_strong(&used[i], &expected, 1))
            return i;
#else
        if (!atomic_load(&used[i])) {
            assert(atomic_exchange(&used[i], 1) == 0);
            return i;
        }
#endif
    }
    assert(0);
    return -1;
}

static void give(int i) {
    atomic_store(&used[i], 0);
    sem_post(&free_objects);
}

static void *run(void *unused) {
    (void)unused;
    give(take());
    return NULL;
}

int main(void) {
    pthread_t a, b;
    sem_init(&free_objects, 0, 2);
    pthread_create(&a, NULL, run, NULL);
    pthread_create(&b, NULL, run, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
