#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static void *first(void *unused) {
    x = 1;
    return unused;
}
static void *other(void *unused) {
    int a = x;
    int b = x;
    assert(!(a == 1 && b == 2));
    return unused;
}
static void *last(void *unused) {
    x = 2;
    return unused;
}
int main(void) {
    pthread_t h, o, k;
    pthread_create(&h, 0, first, 0);
    pthread_create(&o, 0, other, 0);
    pthread_join(h, 0);
    pthread_create(&k, 0, last, 0);
    x = 3;
    pthread_join(k, 0);
    pthread_join(o, 0);
}
