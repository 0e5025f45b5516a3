// A loop that writes the same again and again only waits: behind its first round it may be left for nothing.
// expect: bug assertion 1
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int waited;

static void *takes(void *argument) {
    while (pthread_mutex_trylock(&m) != 0) __atomic_store_n(&waited, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&m);
    return argument;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, takes, NULL);
    pthread_create(&b, NULL, takes, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(!waited);
}
