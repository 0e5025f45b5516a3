#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *t(void *unused) {
    x = 1;
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    x = 2;
    return unused;
}
static void *u(void *unused) {
    int p = x;
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    int q = x;
    assert(!(p == 1 && q == 2));
    return unused;
}
int main(void) {
    pthread_t h, k;
    pthread_create(&h, 0, t, 0);
    pthread_create(&k, 0, u, 0);
    pthread_join(h, 0);
    pthread_join(k, 0);
}
