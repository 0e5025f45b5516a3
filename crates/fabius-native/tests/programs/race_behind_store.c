// The plain store races with the load of the other thread, although an atomic store of the same thread has followed it.
// expect: bug data_race 0
#include <pthread.h>
#include <stdatomic.h>
static atomic_int number, flag;
static void *store(void *unused) {
    *(int *)&number = 1;
    atomic_store_explicit(&number, 2, memory_order_relaxed);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return unused;
}
static void *load(void *unused) {
    if (atomic_load_explicit(&flag, memory_order_relaxed))
        atomic_load_explicit(&number, memory_order_relaxed);
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, store, 0);
    pthread_create(&b, 0, load, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
