// Who has read from one of a pair of sockets comes after who wrote to the other: no data race, whichever end it is.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
static int ends[2], there, back;
static void *answer(void *unused) {
    char c;
    assert(read(ends[1], &c, 1) == 1 && there == 1);
    back = 2;
    assert(write(ends[1], "y", 1) == 1);
    return unused;
}
int main(void) {
    pthread_t thread;
    char c;
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pthread_create(&thread, 0, answer, 0);
    there = 1;
    assert(write(ends[0], "x", 1) == 1);
    assert(read(ends[0], &c, 1) == 1 && back == 2);
    pthread_join(thread, 0);
}
