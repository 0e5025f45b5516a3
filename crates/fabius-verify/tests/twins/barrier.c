#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static pthread_barrier_t barrier;
static void *t(void *unused) {
    x = 1;
    pthread_barrier_wait(&barrier);
    x = 2;
    return unused;
}
static void *u(void *unused) {
    pthread_barrier_wait(&barrier);
    int p = x;
    assert(p == 1);
    return unused;
}
int main(void) {
    pthread_t h, k;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&h, 0, t, 0);
    pthread_create(&k, 0, u, 0);
    pthread_join(h, 0);
    pthread_join(k, 0);
}
