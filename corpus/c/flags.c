// Two flags in one word: they are written by two threads, each under the lock of its own flag.
// expect: bug data_race cost 0
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>

struct flags {
    unsigned ready : 1;
    unsigned error : 1;
#ifdef FIXED
    unsigned : 0;
#endif
    unsigned done : 1;
};

static struct flags flags;
static pthread_mutex_t ready_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;

static void *get_ready(void *unused) {
    (void)unused;
    pthread_mutex_lock(&ready_lock);
    flags.ready = 1;
    pthread_mutex_unlock(&ready_lock);
    return NULL;
}

static void *get_done(void *unused) {
    (void)unused;
    pthread_mutex_lock(&done_lock);
    flags.done = 1;
    pthread_mutex_unlock(&done_lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, get_ready, NULL);
    pthread_create(&b, NULL, get_done, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(flags.ready && flags.done && !flags.error);
    return 0;
}
