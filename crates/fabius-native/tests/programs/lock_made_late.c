// expect: bug sync_misuse 2
// The thread has the lock when it is made.
#include <pthread.h>

static pthread_rwlock_t lock;

static void *run(void *argument) {
    pthread_rwlock_wrlock(&lock);
    pthread_rwlock_unlock(&lock);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_rwlock_init(&lock, 0);
    pthread_join(thread, 0);
    return 0;
}
