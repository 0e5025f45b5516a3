// Four threads at a barrier for two: who meets in the second pair knows nothing of the first.
// expect: bug data_race 0
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static pthread_barrier_t barrier;
static atomic_int left;
static int data;

static void *first(void *writes) {
    if (writes) data = 1;
    pthread_barrier_wait(&barrier);
    atomic_fetch_add_explicit(&left, 1, memory_order_relaxed);
    return 0;
}

static void *second(void *writes) {
    pthread_barrier_wait(&barrier);
    if (writes) data = 2;
    return 0;
}

int main(void) {
    pthread_barrier_init(&barrier, 0, 2);
    pthread_t threads[4];
    pthread_create(&threads[0], 0, first, &data);
    pthread_create(&threads[1], 0, first, 0);
    while (atomic_load_explicit(&left, memory_order_relaxed) < 2) sched_yield();
    pthread_create(&threads[2], 0, second, 0);
    pthread_create(&threads[3], 0, second, &data);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
}
