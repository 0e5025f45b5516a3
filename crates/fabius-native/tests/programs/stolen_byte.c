// Who does not wait for a pipe is switched there all the same: the other thread may take what was put in.
// expect: bug assertion 1
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static int ends[2];
static void *put_and_take(void *unused) {
    char c;
    assert(write(ends[1], "x", 1) == 1);
    assert(read(ends[0], &c, 1) == 1);
    return unused;
}
static void *take(void *unused) {
    char c;
    read(ends[0], &c, 1);
    return unused;
}
int main(void) {
    pthread_t a, b;
    pipe2(ends, O_NONBLOCK);
    pthread_create(&a, 0, put_and_take, 0);
    pthread_create(&b, 0, take, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
