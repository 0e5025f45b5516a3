// A cache under a read-write lock: who found it empty has to look again when it may write.
// expect: bug assertion cost 1
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int cached, computed;

static int get(void) {
    pthread_rwlock_rdlock(&lock);
    int value = cached;
    pthread_rwlock_unlock(&lock);
    if (value)
        return value;
    pthread_rwlock_wrlock(&lock);
#ifdef FIXED
    if (!cached)
#endif
    {
        cached = 5;
        computed++;
    }
    value = cached;
    pthread_rwlock_unlock(&lock);
    return value;
}

static void *user(void *unused) {
    assert(get() == 5);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, user, NULL);
    pthread_create(&b, NULL, user, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(computed == 1);
    return 0;
}
