// A relaxed store orders nothing.
// expect: bug data_race 1
#include <pthread.h>
#include <stdatomic.h>
static int data;
static atomic_int ready;
static void *publish(void *unused) {
    data = 1;
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, publish, 0);
    int seen = atomic_load_explicit(&ready, memory_order_acquire) ? data : 1;
    pthread_join(thread, 0);
    return seen != 1;
}
