// Who gives a lock back, because another one cannot be had, may do so more than once.
// expect: bug assertion 4
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int taken;
static void *takes(void *number) {
    int first = (long)number, times = 0;
    for (;;) {
        pthread_mutex_lock(&locks[first]);
        if (pthread_mutex_trylock(&locks[!first]) == 0) break;
        pthread_mutex_unlock(&locks[first]);
        first = !first;
        times++;
    }
    taken++;
    pthread_mutex_unlock(&locks[0]);
    pthread_mutex_unlock(&locks[1]);
    assert(times < 3);
    return NULL;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, takes, (void *)1);
    takes((void *)0);
    pthread_join(thread, NULL);
}
