// flags: -D_GNU_SOURCE
// A thread that is asked to end while a signal ends its wait for files may end there, or go on: both are explored.
// expect: bug assertion 0
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t inside;
static void handle(int signal) {
    sem_post(&inside);
    // No place where a thread ends, but main has asked for that when it goes on from here.
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}
static void *waits(void *unused) {
    sigset_t none;
    sigemptyset(&none);
    ppoll(NULL, 0, NULL, &none);
    return unused;
}
int main(void) {
    pthread_t thread;
    sigset_t set;
    void *result;
    signal(SIGUSR1, handle);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, waits, NULL);
    pthread_kill(thread, SIGUSR1);
    sem_wait(&inside);
    pthread_cancel(thread);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, &result);
    assert(result != PTHREAD_CANCELED);
}
