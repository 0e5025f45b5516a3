// Two threads that give a lock back and try again, for another lock that nobody ever gives back.
// expect: bug livelock 0
#include <pthread.h>
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static void *tries(void *mine) {
    for (;;) {
        pthread_mutex_lock(mine);
        if (pthread_mutex_trylock(&held) == 0) break;
        pthread_mutex_unlock(mine);
    }
    return NULL;
}
int main(void) {
    pthread_t threads[2];
    pthread_mutex_lock(&held);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, tries, &own[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}
