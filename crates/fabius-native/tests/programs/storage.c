// Thread-local variables, errno, and tables of the C library are the thread's own.
// expect: verified
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
static __thread long mine = 7;
static void *check(void *argument) {
    long me = (long)argument;
    assert(mine == 7);
    mine = me;
    errno = (int)me;
    sched_yield();
    assert(mine == me && errno == (int)me && isdigit('3'));
    return 0;
}
int main(void) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, check, (void *)(i + 20));
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    assert(mine == 7);
}
