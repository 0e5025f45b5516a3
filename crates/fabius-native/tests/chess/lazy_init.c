// Main takes a lock and gives it back before the thread is there; then both do so once more.
// verdict: ok
// executions: 5 6 6
// classes: 3 3 3
// ours: 2 2 2
// Two orders, and so two classes. CHESS does not put memory back: main took the lock early in the first execution alone, and
// that one is a third class.
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
