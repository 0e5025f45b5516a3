// expect: verified
// A handler may interrupt what it shares a volatile variable with, and other threads look at it under a lock.
#include <assert.h>
#include <pthread.h>
#include <signal.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t seen;
static volatile int shared;

static void handle(int number) { seen = number; }

static void *run(void *argument) {
    pthread_mutex_lock(&mutex);
    shared++;
    pthread_mutex_unlock(&mutex);
    return argument;
}

int main(void) {
    pthread_t thread;
    signal(SIGUSR1, handle);
    pthread_create(&thread, 0, run, 0);
    run(0);
    seen = 0;
    pthread_kill(pthread_self(), SIGUSR1);
    assert(seen == SIGUSR1);
    pthread_join(thread, 0);
    assert(shared == 2);
    return 0;
}
