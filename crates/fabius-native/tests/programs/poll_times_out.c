// A poll with a limit may find nothing although somebody will write: the program must not rely on it.
// expect: bug assertion 0
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
static int ends[2];
static void *send_one(void *unused) {
    assert(write(ends[1], "x", 1) == 1);
    return unused;
}
int main(void) {
    pthread_t thread;
    assert(pipe(ends) == 0);
    struct pollfd file = {.fd = ends[0], .events = POLLIN};
    pthread_create(&thread, 0, send_one, 0);
    assert(poll(&file, 1, 1000) == 1);
    pthread_join(thread, 0);
}
