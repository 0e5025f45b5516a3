// A signal that comes before sigsuspend waits until then; one that comes before pause is lost.
// expect: bug deadlock 1
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>
static atomic_int handled;
static void handler(int signal) { handled += signal == SIGUSR2; }
static void *waits(void *unused) {
    sigset_t blocked, open;
    sigemptyset(&open);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    assert(sigsuspend(&open) == -1 && errno == EINTR && handled == 1);
    pthread_sigmask(SIG_UNBLOCK, &blocked, 0);
    handled = 10;
    pause();
    assert(handled == 11);
    return unused;
}
int main(void) {
    pthread_t thread;
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    signal(SIGUSR2, handler);
    pthread_sigmask(SIG_BLOCK, &blocked, 0);
    pthread_create(&thread, 0, waits, 0);
    pthread_kill(thread, SIGUSR2);
    while (handled != 10) sched_yield();
    pthread_kill(thread, SIGUSR2);
    pthread_join(thread, 0);
}
