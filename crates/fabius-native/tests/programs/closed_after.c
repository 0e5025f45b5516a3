// Between what is written and the end of the pipe another thread may look.
// expect: bug assertion 2
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

static int ends[2];

static void *writes(void *none) {
    write(ends[1], "x", 1);
    close(ends[1]);
    return none;
}

int main(void) {
    pthread_t thread;
    pipe(ends);
    pthread_create(&thread, NULL, writes, NULL);
    struct pollfd in = {ends[0], POLLIN, 0};
    poll(&in, 1, 0);
    assert(in.revents != POLLIN);
    pthread_join(thread, NULL);
}
