// expect: bug assertion 1
// What a thread leaves locked is free when it has ended, and not when it has done its last step.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static pthread_mutex_t mutex;
static atomic_int done;

static void *run(void *argument) {
    pthread_mutex_lock(&mutex);
    done = 1;
    return argument;
}

int main(void) {
    pthread_mutexattr_t kind;
    pthread_t thread;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &kind);
    pthread_create(&thread, 0, run, 0);
    while (!done) sched_yield();
    assert(pthread_mutex_trylock(&mutex) == EOWNERDEAD);
    return 0;
}
