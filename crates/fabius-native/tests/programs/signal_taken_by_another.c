// flags: -D_GNU_SOURCE
// Whoever is told of a signal that was sent to the process has not taken it yet: one that lets it in meanwhile may be faster,
// even if it waits for no time.
// expect: bug assertion 0

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

static sem_t waits;
static sigset_t none;

static void handle(int signal) {
    (void)signal;
}

static void *lets_in(void *unused) {
    sem_post(&waits);
    ppoll(NULL, 0, NULL, &none);
    return unused;
}

int main(void) {
    struct timespec no_time = {0};
    sigset_t set;
    pthread_t thread;
    sem_init(&waits, 0, 0);
    signal(SIGUSR1, handle);
    sigemptyset(&none);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&thread, NULL, lets_in, NULL);
    sem_wait(&waits);
    kill(getpid(), SIGUSR1);
    assert(ppoll(NULL, 0, &no_time, &none) == 0);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
}
