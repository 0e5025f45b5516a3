// A thread that gives way may go on at once: here it gives up waiting, and fails.
// expect: bug assertion 0
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
static atomic_int done;
static void *work(void *unused) {
    done = 1;
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    sched_yield();
    sched_yield();
    assert(done);
    pthread_join(thread, 0);
}
