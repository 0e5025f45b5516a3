// Where there is too much memory to be compared, who gives way again and again waits for the others, and that is said.
// expect: bounded
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int ready, done;
static void *wait_for_it(void *unused) {
    while (!ready || !done) sched_yield();
    return unused;
}
int main(void) {
    pthread_t thread;
    char *much = malloc(8 << 20);
    pthread_create(&thread, 0, wait_for_it, 0);
    much[5000] = 1;
    ready = 1;
    done = 1;
    pthread_join(thread, 0);
    free(much);
}
