// flags: -D_GNU_SOURCE
// Who wants all bytes gets them however they come, or fewer at the end; messages come one by one.
// expect: verified

#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int stream[2], packets[2];

static void *sends(void *unused) {
    assert(send(stream[0], "ab", 2, 0) == 2 && send(stream[0], "cde", 3, 0) == 3);
    struct iovec parts[2] = {{"one", 3}, {"three", 5}};
    struct mmsghdr messages[2] = {{{.msg_iov = parts, .msg_iovlen = 1}}, {{.msg_iov = parts + 1, .msg_iovlen = 1}}};
    assert(sendmmsg(packets[0], messages, 2, 0) == 2 && messages[1].msg_len == 5);
    close(stream[0]);
    return unused;
}

int main(void) {
    char text[8] = "", first[8], second[8];
    struct iovec parts[2] = {{first, 8}, {second, 8}};
    struct mmsghdr messages[2] = {{{.msg_iov = parts, .msg_iovlen = 1}}, {{.msg_iov = parts + 1, .msg_iovlen = 1}}};
    pthread_t thread;
    assert(socketpair(AF_UNIX, SOCK_STREAM, 0, stream) == 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, packets) == 0);
    pthread_create(&thread, NULL, sends, NULL);
    assert(recv(stream[1], text, 4, MSG_WAITALL) == 4 && memcmp(text, "abcd", 4) == 0);
    assert(recvmmsg(packets[1], messages, 2, 0, NULL) == 2);
    assert(messages[0].msg_len == 3 && messages[1].msg_len == 5 && memcmp(second, "three", 5) == 0);
    assert(recv(stream[1], text, 4, MSG_WAITALL) == 1 && text[0] == 'e');
    pthread_join(thread, NULL);
    return 0;
}
