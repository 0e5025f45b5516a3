// A condition variable is waited for that was destroyed.
// expect: bug sync_misuse 0
#include <pthread.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static void *wait(void *unused) {
    struct timespec until = {0, 0};
    pthread_mutex_lock(&lock);
    pthread_cond_timedwait(&changed, &lock, &until);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_cond_destroy(&changed);
    pthread_create(&thread, 0, wait, 0);
    pthread_join(thread, 0);
}
