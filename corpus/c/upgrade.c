// Readers that want to write: each lets go of its read lock first, and looks again, or does not.
// expect: bug assertion cost 1
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int value, times;

static void *fill(void *unused) {
    (void)unused;
    pthread_rwlock_rdlock(&lock);
    int empty = value == 0;
    pthread_rwlock_unlock(&lock);
    if (!empty)
        return NULL;
    pthread_rwlock_wrlock(&lock);
#ifdef FIXED
    if (value == 0)
#endif
    {
        value = 5;
        times++;
    }
    assert(times == 1);
    pthread_rwlock_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, fill, NULL);
    pthread_create(&b, NULL, fill, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
