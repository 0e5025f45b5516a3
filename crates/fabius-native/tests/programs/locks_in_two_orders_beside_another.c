// Two threads may give locks back by turns for ever; beside a third one such executions do not end: it might never be tried.
// expect: bug assertion
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t third = PTHREAD_MUTEX_INITIALIZER;
static int seen;
static void *takes(void *number) {
    int first = (long)number;
    for (;;) {
        pthread_mutex_lock(&locks[first]);
        if (pthread_mutex_trylock(&locks[!first]) == 0) break;
        pthread_mutex_unlock(&locks[first]);
    }
    pthread_mutex_lock(&third);
    seen++;
    pthread_mutex_unlock(&third);
    pthread_mutex_unlock(&locks[0]);
    pthread_mutex_unlock(&locks[1]);
    return NULL;
}
static void *looks(void *unused) {
    pthread_mutex_lock(&third);
    assert(seen != 1);
    pthread_mutex_unlock(&third);
    return unused;
}
int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, takes, (void *)1);
    pthread_create(&threads[1], NULL, looks, NULL);
    takes((void *)0);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}
