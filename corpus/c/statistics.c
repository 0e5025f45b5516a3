// Counters of each thread that are added to one of all; the wrong version adds without the lock.
// expect: bug data_race cost 0
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>

static _Thread_local int mine;
static int all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void flush(void) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
    all += mine;
    pthread_mutex_unlock(&lock);
#else
    all += mine;
#endif
    mine = 0;
}

static void *work(void *arg) {
    for (long i = 0; i < (long)arg; i++)
        mine++;
    flush();
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, work, (void *)2L);
    pthread_create(&b, NULL, work, (void *)3L);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(all == 5);
    return 0;
}
