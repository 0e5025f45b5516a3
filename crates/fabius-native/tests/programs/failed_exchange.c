// A compare-exchange that fails writes nothing, so it does not race with a plain load.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int number = 1;
static void *exchange(void *unused) {
    int expected = 0;
    assert(!atomic_compare_exchange_strong(&number, &expected, 5) && expected == 1);
    return unused;
}
static void *look(void *unused) {
    assert(*(int *)&number == 1);
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, exchange, 0);
    pthread_create(&b, 0, look, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
