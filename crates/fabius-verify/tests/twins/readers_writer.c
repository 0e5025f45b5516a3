#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static pthread_rwlock_t m = PTHREAD_RWLOCK_INITIALIZER;
static void *t(void *unused) {
    pthread_rwlock_rdlock(&m);
    int p = x;
    pthread_rwlock_unlock(&m);
    pthread_rwlock_wrlock(&m);
    x = p + 1;
    pthread_rwlock_unlock(&m);
    return unused;
}
int main(void) {
    pthread_t h, k;
    pthread_create(&h, 0, t, 0);
    pthread_create(&k, 0, t, 0);
    pthread_join(h, 0);
    pthread_join(k, 0);
    int r = x;
    assert(r == 2);
}
