// Two threads that try to take a lock for ever, which nobody gives back.
// expect: bug livelock 0
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *tries(void *unused) {
    while (pthread_mutex_trylock(&lock)) {
    }
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t threads[2];
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, tries, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}
