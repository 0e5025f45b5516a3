// Who waits in a loop that calls what ends a thread is asked to end there, and does: it waits for no other value.
// expect: verified
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int ready, begun;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *waits(void *argument) {
    begun = 1;
    while (!ready) usleep(1);
    return argument;
}

static void *tries(void *argument) {
    while (pthread_mutex_trylock(&m)) usleep(1);
    pthread_mutex_unlock(&m);
    return argument;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, waits, NULL);
    while (!begun) {}
    pthread_cancel(one);
    pthread_join(one, NULL);
    pthread_mutex_lock(&m);
    pthread_create(&other, NULL, tries, NULL);
    pthread_cancel(other);
    pthread_join(other, NULL);
}
