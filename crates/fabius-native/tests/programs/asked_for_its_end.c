// expect: bug assertion 1
// The thread may not have ended yet when somebody asks who has seen all that it does.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int done;

static void *run(void *argument) {
    done = 1;
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    while (!done) sched_yield();
    assert(pthread_tryjoin_np(thread, 0) == 0);
    return 0;
}
