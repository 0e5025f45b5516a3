// A message that is larger than a pipe or a pair of sockets has room for is written in parts, as the other side reads.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
enum { SIZE = 300000 };
static int ends[2], sockets[2];
static char message[SIZE], got[SIZE];
static void *reads(void *unused) {
    int from[2] = {ends[0], sockets[0]};
    for (int i = 0; i < 2; i++) {
        memset(got, 0, SIZE);
        for (ssize_t at = 0, n; at < SIZE; at += n) assert((n = read(from[i], got + at, SIZE - at)) > 0);
        assert(memcmp(got, message, SIZE) == 0);
    }
    return unused;
}
int main(void) {
    pthread_t thread;
    struct iovec parts[2] = {{message, SIZE / 2}, {message + SIZE / 2, SIZE / 2}};
    memset(message, 'x', SIZE);
    message[SIZE - 1] = 'y';
    assert(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    pthread_create(&thread, 0, reads, 0);
    assert(writev(ends[1], parts, 2) == SIZE);
    assert(send(sockets[1], message, SIZE, 0) == SIZE);
    pthread_join(thread, 0);
}
