// expect: bug assertion 1
// The limit may run out before the thread has ended, even if it has nothing left to do.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int done;

static void *run(void *argument) {
    done = 1;
    return argument;
}

int main(void) {
    pthread_t thread;
    struct timespec limit;
    pthread_create(&thread, 0, run, 0);
    while (!done) sched_yield();
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec++;
    int got = pthread_timedjoin_np(thread, 0, &limit);
    assert(got == 0);
    return 0;
}
