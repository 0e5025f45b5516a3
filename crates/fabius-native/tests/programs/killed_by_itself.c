// Who has blocked a signal does not keep it from ending the process, if another thread has not.
// forked: the process ends
// expect: bug crash 0
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static void *waits(void *unused) {
    for (;;) pause();
    return unused;
}
int main(void) {
    pthread_t thread;
    sigset_t all;
    pthread_create(&thread, 0, waits, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, 0);
    kill(getpid(), SIGTERM);
    return 0;
}
