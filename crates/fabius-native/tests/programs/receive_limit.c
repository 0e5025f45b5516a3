// A socket with a limit for receiving may give up although somebody sends.
// expect: bug assertion 0
#include <assert.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>
static int ends[2];
static void *send_one(void *unused) {
    send(ends[1], "x", 1, 0);
    return unused;
}
int main(void) {
    pthread_t thread;
    char c;
    struct timeval limit = {.tv_sec = 5};
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    assert(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    pthread_create(&thread, 0, send_one, 0);
    assert(recv(ends[0], &c, 1, 0) == 1);
    pthread_join(thread, 0);
}
