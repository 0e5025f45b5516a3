// A thread that waits for the signals that all threads have blocked gets what is sent to the process.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static int data;
static sigset_t signals;
static void *wait_for(void *unused) {
    int signal;
    assert(sigwait(&signals, &signal) == 0 && signal == SIGUSR1);
    data = 1;
    return unused;
}
int main(void) {
    pthread_t thread;
    sigset_t before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    assert(pthread_sigmask(SIG_BLOCK, &signals, &before) == 0 && !sigismember(&before, SIGUSR1));
    pthread_create(&thread, 0, wait_for, 0);
    kill(getpid(), SIGUSR1);
    pthread_join(thread, 0);
    sigpending(&before);
    assert(data == 1 && !sigismember(&before, SIGUSR1));
}
