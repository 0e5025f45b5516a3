// flags: -D_GNU_SOURCE
// Signals that are let in by a wait for files alone end it, and are lost by none.
// expect: verified

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/select.h>
#include <unistd.h>

static volatile sig_atomic_t got;
static int ends[2];

static void handle(int signal) {
    got = signal;
}

static void *sends(void *thread) {
    pthread_kill(*(pthread_t *)thread, SIGUSR1);
    return NULL;
}

int main(void) {
    pthread_t me = pthread_self(), thread;
    sigset_t set, none;
    struct timespec second = {.tv_sec = 1};
    signal(SIGUSR1, handle);
    sigemptyset(&none);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    assert(pipe(ends) == 0);
    pthread_create(&thread, NULL, sends, &me);
    assert(!got);
    while (!got) assert(pselect(0, NULL, NULL, NULL, NULL, &none) == -1 && errno == EINTR);
    got = 0;
    struct pollfd file = {.fd = ends[0], .events = POLLIN};
    assert(ppoll(&file, 1, &second, &none) == 0 && !got);
    assert(raise(SIGUSR1) == 0 && write(ends[1], "x", 1) == 1 && !got);
    assert(ppoll(&file, 1, NULL, &none) == 1 && !got);
    pthread_join(thread, NULL);
    return 0;
}
