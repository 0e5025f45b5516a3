// A condition variable that was destroyed is made again, and its storage is used for another one.
// expect: verified
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int done;
static void *wait(void *unused) {
    pthread_mutex_lock(&lock);
    while (!done) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    for (int round = 0; round < 2; round++) {
        pthread_t thread;
        pthread_create(&thread, 0, wait, 0);
        pthread_mutex_lock(&lock);
        done = 1;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
        pthread_join(thread, 0);
        pthread_cond_destroy(&changed);
        done = 0;
        if (round) changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
        else pthread_cond_init(&changed, 0);
    }
    pthread_cond_signal(&changed);
}
