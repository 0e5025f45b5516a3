// A signal that is on its way already is not sent once more, but for those that programs may use as they like; one about
// which nothing is done is not on its way at all; `SA_RESETHAND` is for one signal.
// expect: verified
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static int handled[65];
static void handle(int signal) {
    handled[signal]++;
}
static int is_there(int signal) {
    sigset_t there;
    sigpending(&there);
    return sigismember(&there, signal);
}
static void *run(void *unused) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, 0);
    for (int i = 0; i < 2; i++) {
        raise(SIGUSR1);
        pthread_kill(pthread_self(), SIGRTMIN);
        raise(SIGCHLD);
    }
    assert(is_there(SIGUSR1) && is_there(SIGCHLD));
    signal(SIGCHLD, SIG_IGN);
    assert(!is_there(SIGCHLD));
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&all);
    pthread_sigmask(SIG_SETMASK, &all, 0);
    assert(handled[SIGUSR1] == 1 && handled[SIGRTMIN] == 2);
    return unused;
}
int main(void) {
    pthread_t thread;
    struct sigaction action = {.sa_handler = handle}, now;
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGRTMIN, &action, 0);
    action.sa_flags = SA_RESETHAND;
    sigaction(SIGUSR2, &action, 0);
    raise(SIGUSR2);
    sigaction(SIGUSR2, 0, &now);
    assert(handled[SIGUSR2] == 1 && now.sa_handler == SIG_DFL);
    raise(SIGURG);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, 0);
    assert(!is_there(SIGURG));
    kill(getpid(), SIGUSR2);
    kill(getpid(), SIGUSR2);
    int got;
    sigemptyset(&all);
    sigaddset(&all, SIGUSR2);
    assert(sigwait(&all, &got) == 0 && got == SIGUSR2 && !is_there(SIGUSR2));
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
}
