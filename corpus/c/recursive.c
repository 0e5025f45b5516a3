// A function that takes the lock and calls another one that does so, too: the lock has to be a recursive one.
// expect: bug deadlock cost 0
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock;
static int depth, entries;

static void enter(int left) {
    pthread_mutex_lock(&lock);
    assert(depth >= 0);
    depth++;
    entries++;
    if (left > 0)
        enter(left - 1);
    depth--;
    pthread_mutex_unlock(&lock);
}

static void *work(void *unused) {
    enter(1);
    return NULL;
}

int main(void) {
    pthread_t t;
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
#ifdef FIXED
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
#else
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_NORMAL);
#endif
    pthread_mutex_init(&lock, &kind);
    pthread_create(&t, NULL, work, NULL);
    enter(1);
    pthread_join(t, NULL);
    assert(entries == 4 && depth == 0);
    return 0;
}
