// A server and its client in one process: to listen, to connect, to accept, to send and to receive. The client may come too early.
// expect: bug assertion 1
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t size = sizeof address;
static void *client(void *unused) {
    char text[6];
    int socket_ = socket(AF_UNIX, SOCK_STREAM, 0);
    assert(connect(socket_, (void *)&address, size) == 0);
    assert(send(socket_, "hello", 6, 0) == 6);
    assert(recv(socket_, text, 6, 0) == 6 && strcmp(text, "HELLO") == 0);
    close(socket_);
    return unused;
}
int main(void) {
    pthread_t thread;
    char text[6];
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    assert(bind(server, (void *)&address, sizeof(sa_family_t)) == 0 && getsockname(server, (void *)&address, &size) == 0);
    pthread_create(&thread, 0, client, 0);
    assert(listen(server, 1) == 0);
    int peer = accept(server, 0, 0);
    assert(recv(peer, text, 6, 0) == 6 && strcmp(text, "hello") == 0);
    assert(send(peer, "HELLO", 6, 0) == 6);
    pthread_join(thread, 0);
    assert(recv(peer, text, 6, 0) == 0);
}
