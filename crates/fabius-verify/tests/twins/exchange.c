#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static void *add(void *unused) {
    int p = x;
    atomic_compare_exchange_strong(&x, &p, p + 1);
    return unused;
}
int main(void) {
    pthread_t h, k;
    pthread_create(&h, 0, add, 0);
    pthread_create(&k, 0, add, 0);
    pthread_join(h, 0);
    pthread_join(k, 0);
    int r = x;
    assert(r == 2);
}
