// What a thread that gives locks back writes to its stack may race with who looks there: where executions that come back to a state
// end, that is said.
// expect: bounded
#include <pthread.h>
static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t third = PTHREAD_MUTEX_INITIALIZER;
static int *shown;
static void takes(int first, int *place) {
    for (;;) {
        pthread_mutex_lock(&locks[first]);
        if (pthread_mutex_trylock(&locks[!first]) == 0) break;
        pthread_mutex_unlock(&locks[first]);
        first = !first;
        pthread_mutex_lock(&third);
        *place = 1;
        pthread_mutex_unlock(&third);
    }
    pthread_mutex_unlock(&locks[0]);
    pthread_mutex_unlock(&locks[1]);
}
static void *other(void *unused) {
    int place = 0;
    takes(1, &place);
    pthread_mutex_lock(&third);
    *shown = 1;
    pthread_mutex_unlock(&third);
    return unused;
}
int main(void) {
    pthread_t thread;
    int place = 0;
    shown = &place;
    pthread_create(&thread, NULL, other, NULL);
    takes(0, &place);
    pthread_join(thread, NULL);
}
