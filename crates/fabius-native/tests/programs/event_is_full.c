// A number that does not fit into an event waits for who reads it, and not in the kernel.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int event;

static void *reads(void *none) {
    uint64_t number;
    assert(read(event, &number, 8) == 8);
    return none;
}

int main(void) {
    pthread_t thread;
    uint64_t number = UINT64_MAX - 1;
    event = eventfd(1, 0);
    pthread_create(&thread, NULL, reads, NULL);
    assert(write(event, &number, 8) == 8);
    pthread_join(thread, NULL);
}
