// Peterson's lock. The wrong version says whose turn it is before it says that it is interested.
// expect: bug assertion cost 2
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int interested[2], turn, inside;

static void lock(int me) {
    int other = 1 - me;
#ifdef FIXED
    interested[me] = 1;
    turn = other;
#else
    turn = other;
    interested[me] = 1;
#endif
    while (interested[other] && turn == other)
        ;
}

static void *work(void *arg) {
    int me = (int)(long)arg;
    lock(me);
    assert(atomic_fetch_add(&inside, 1) == 0);
    atomic_fetch_sub(&inside, 1);
    interested[me] = 0;
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, work, (void *)0L);
    pthread_create(&b, NULL, work, (void *)1L);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
