// Atomic accesses that are followed by others, and plain ones that come before or after all of them: no race.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int number;
static void *add(void *unused) {
    atomic_fetch_add_explicit(&number, 1, memory_order_relaxed);
    return unused;
}
int main(void) {
    pthread_t a, b;
    *(int *)&number = 1;
    pthread_create(&a, 0, add, 0);
    pthread_create(&b, 0, add, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(*(int *)&number == 3);
    *(int *)&number = 0;
    pthread_create(&a, 0, add, 0);
    pthread_join(a, 0);
    assert(*(int *)&number == 1);
}
