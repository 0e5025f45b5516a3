// As lazy_init, but the thread is there before main takes the lock for the first time.
// verdict: ok
// executions: 5 6 6
// classes: 3 3 3
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    work(0);
    work(0);
    pthread_join(thread, 0);
}
