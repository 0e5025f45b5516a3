// What is no number of an event is refused at once: nobody waits for room, or for a number.
// expect: verified
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int event;

static void *uses(void *none) {
    uint64_t number = UINT64_MAX;
    assert(write(event, &number, 8) == -1 && errno == EINVAL);
    assert(write(event, &number, 4) == -1 && errno == EINVAL);
    assert(read(event, &number, 4) == -1 && errno == EINVAL);
    return none;
}

int main(void) {
    pthread_t thread;
    event = eventfd(0, 0);
    pthread_create(&thread, NULL, uses, NULL);
    pthread_join(thread, NULL);
    uint64_t most = UINT64_MAX - 1;
    assert(write(event, &most, 8) == 8);
    uses(NULL);
}
