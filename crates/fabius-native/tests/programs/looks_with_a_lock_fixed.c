// The same without a bug.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <sched.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int ready;

static void *sets(void *argument) {
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_mutex_unlock(&m);
    return argument;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, sets, NULL);
    int seen = 0;
    while (!seen) {
        pthread_mutex_lock(&m);
        seen = ready;
        pthread_mutex_unlock(&m);
    }
    pthread_join(t, NULL);
    assert(ready);
}
