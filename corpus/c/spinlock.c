// A lock that spins: to look and then to take it is not one step.
// expect: bug assertion cost 2
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int held;
static atomic_int inside;

static void lock(void) {
#ifdef FIXED
    while (atomic_exchange(&held, 1))
        ;
#else
    while (atomic_load(&held))
        ;
    atomic_store(&held, 1);
#endif
}

static void *work(void *unused) {
    lock();
    assert(atomic_fetch_add(&inside, 1) == 0);
    atomic_fetch_sub(&inside, 1);
    atomic_store(&held, 0);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
