// A condition variable is destroyed while a thread waits for it.
// expect: bug sync_misuse 0
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int waits;
static void *wait(void *unused) {
    pthread_mutex_lock(&lock);
    waits = 1;
    pthread_cond_signal(&changed);
    while (waits) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, wait, 0);
    pthread_mutex_lock(&lock);
    while (!waits) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&changed);
    pthread_join(thread, 0);
}
