// A handler that takes a lock which its own thread holds waits for ever. The signal does not stay with the process.
// expect: bug deadlock 2
#include <pthread.h>
#include <signal.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void take(int signal) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}
static void *run(void *unused) {
    take(0);
    return unused;
}
int main(void) {
    pthread_t thread;
    signal(SIGUSR1, take);
    pthread_create(&thread, 0, run, 0);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, 0);
}
