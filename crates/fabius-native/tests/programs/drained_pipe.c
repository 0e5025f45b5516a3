// A loop that empties a pipe changes nothing in memory, and yet does not repeat itself.
// expect: verified
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
static int ends[2];
static int more(void) {
    char c;
    return read(ends[0], &c, 1) == 1;
}
static void *drain(void *unused) {
    while (more())
        sched_yield();
    return unused;
}
int main(void) {
    pthread_t thread;
    pipe2(ends, O_NONBLOCK);
    assert(write(ends[1], "12345", 5) == 5);
    pthread_create(&thread, 0, drain, 0);
    pthread_join(thread, 0);
}
