// The plain load races with the atomic store of the other thread, although an atomic store of its own thread lies between.
// expect: bug data_race 0
#include <pthread.h>
#include <stdatomic.h>
static atomic_int number, flag;
static int seen;
static void *first(void *unused) {
    atomic_store_explicit(&number, 1, memory_order_relaxed);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return unused;
}
static void *second(void *unused) {
    if (atomic_load_explicit(&flag, memory_order_relaxed)) {
        atomic_store_explicit(&number, 2, memory_order_relaxed);
        seen = *(int *)&number;
    }
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, first, 0);
    pthread_create(&b, 0, second, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
