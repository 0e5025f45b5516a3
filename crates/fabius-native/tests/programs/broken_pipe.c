// Nobody is left to read: the signal waits while it is blocked, its handler runs otherwise, and if it is ignored there is none.
// expect: verified
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

static int handled;

static void counts(int signal) {
    handled++;
}

static void *closes(void *end) {
    close(*(int *)end);
    return NULL;
}

static void refused(int (*make)(int *)) {
    int ends[2];
    pthread_t thread;
    assert(make(ends) == 0);
    pthread_create(&thread, NULL, closes, &ends[0]);
    pthread_join(thread, NULL);
    assert(write(ends[1], "x", 1) == -1 && errno == EPIPE);
    close(ends[1]);
}

static int sockets(int *ends) {
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

int main(void) {
    sigset_t pipes, there;
    sigemptyset(&pipes);
    sigaddset(&pipes, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipes, NULL);
    refused(pipe);
    refused(sockets);
    sigpending(&there);
    assert(sigismember(&there, SIGPIPE));
    signal(SIGPIPE, counts);
    assert(handled == 0);
    pthread_sigmask(SIG_UNBLOCK, &pipes, NULL);
    assert(handled == 1);
    refused(pipe);
    assert(handled == 2);
    signal(SIGPIPE, SIG_IGN);
    refused(sockets);
    assert(handled == 2);
}
