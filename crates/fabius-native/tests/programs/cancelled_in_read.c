// expect: verified
// Who waits for what nobody writes, in any of these calls, ends when somebody asks for that.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2], sockets[2];

static void *reads(void *argument) {
    char byte;
    read(ends[0], &byte, 1);
    return argument;
}

static void *polls(void *argument) {
    struct pollfd one = {ends[0], POLLIN, 0};
    poll(&one, 1, -1);
    return argument;
}

static void *selects(void *argument) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    select(ends[0] + 1, &set, 0, 0, 0);
    return argument;
}

static void *receives(void *argument) {
    char byte;
    recv(sockets[0], &byte, 1, 0);
    return argument;
}

int main(void) {
    void *(*functions[])(void *) = {reads, polls, selects, receives};
    pipe(ends);
    socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, 0, functions[i], 0);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        assert(result == PTHREAD_CANCELED);
    }
    return 0;
}
