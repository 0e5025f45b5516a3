// A loop that waits is known to repeat itself however much data there is: what was written of it is compared.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
static char data[32 << 20];
static atomic_int ready;
static void *wait_for_it(void *unused) {
    while (!ready) sched_yield();
    assert(data[20000000] == 7);
    return unused;
}
int main(void) {
    pthread_t thread;
    data[5000] = 1;
    pthread_create(&thread, 0, wait_for_it, 0);
    data[20000000] = 7;
    ready = 1;
    pthread_join(thread, 0);
}
