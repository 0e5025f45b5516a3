// The same over the network's own loop, in the right order.
// expect: verified
#include <arpa/inet.h>
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static struct sockaddr_in address = {.sin_family = AF_INET};
static int before;
static void *client(void *unused) {
    char text[6];
    int socket_ = socket(AF_INET, SOCK_STREAM, 0);
    before = 1;
    assert(connect(socket_, (void *)&address, sizeof address) == 0);
    assert(write(socket_, "hello", 6) == 6);
    assert(read(socket_, text, 6) == 6 && strcmp(text, "HELLO") == 0);
    close(socket_);
    return unused;
}
int main(void) {
    pthread_t thread;
    char text[6];
    int server = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert(bind(server, (void *)&address, sizeof address) == 0 && listen(server, 1) == 0);
    assert(getsockname(server, (void *)&address, &size) == 0);
    pthread_create(&thread, 0, client, 0);
    int peer = accept(server, 0, 0);
    assert(before == 1 && recvfrom(peer, text, 6, 0, 0, 0) == 6 && strcmp(text, "hello") == 0);
    assert(sendto(peer, "HELLO", 6, 0, 0, 0) == 6);
    pthread_join(thread, 0);
}
