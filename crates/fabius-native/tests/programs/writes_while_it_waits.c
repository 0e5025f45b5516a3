// What a loop writes again and again others may have changed: it does more than look.
// expect: bug assertion 1
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int ready, written;

static void *waits(void *argument) {
    while (!ready) written = 0;
    return argument;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, waits, NULL);
    written = 1;
    int seen = written;
    ready = 1;
    pthread_join(t, NULL);
    // Changed behind the store, and before the load.
    assert(seen == 1);
}
