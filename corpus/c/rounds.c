// Two workers that meet after each round: one barrier for both rounds is not enough where the result of a round is put back.
// expect: bug assertion cost 0
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { WORKERS = 2 };

static pthread_barrier_t meet;
static atomic_int sum;

static void *worker(void *unused) {
    (void)unused;
    for (int round = 0; round < 2; round++) {
        atomic_fetch_add(&sum, 1);
        pthread_barrier_wait(&meet);
        assert(atomic_load(&sum) == WORKERS * (round + 1));
#ifdef FIXED
        pthread_barrier_wait(&meet);
#endif
    }
    return NULL;
}

int main(void) {
    pthread_t threads[WORKERS];
    pthread_barrier_init(&meet, NULL, WORKERS);
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
