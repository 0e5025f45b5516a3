// Main takes a lock and gives it back before the thread is there; then both do so once more.
// verdict: ok
// executions: 5 6 6
// classes: 3 3 3
// ours: 2 2 2
// What is described has two orders of what comes after the thread is there, and so two classes; lazy_init_inside has three.
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t thread;
    work(0);
    pthread_create(&thread, 0, work, 0);
    work(0);
    pthread_join(thread, 0);
}
