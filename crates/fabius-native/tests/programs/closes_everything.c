// Who closes all files closes none of those that the explorer needs, and they are open in the next execution.
// flags: -D_GNU_SOURCE
// expect: bug assertion 1
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
static atomic_int closed;
static void *close_all(void *unused) {
    assert(close(0) == 0);
    assert(close(0) == -1);
    for (int file = 0; file < 1024; file++) close(file);
    int file = open("/dev/null", O_RDONLY);
    closefrom(0);
    assert(close(file) == -1);
    assert(close_range(3, 2, 0) == -1);
    closed = 1;
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, close_all, 0);
    int was_closed = closed;
    pthread_join(thread, 0);
    assert(!was_closed);
}
