// flags: -D_GNU_SOURCE
// Numbers that are sent with signals come with them, in their order.
// expect: verified

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void *waits(void *set) {
    siginfo_t info;
    int others = 0;
    for (int i = 1; i <= 3; i++) {
        int signal = sigwaitinfo(set, &info);
        assert(info.si_code == SI_QUEUE && info.si_value.sival_int == (signal == SIGUSR1 ? 3 : i - others));
        others += signal == SIGUSR1;
    }
    return NULL;
}

int main(void) {
    pthread_t thread;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&thread, NULL, waits, &set);
    for (int i = 1; i <= 2; i++) assert(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i}) == 0);
    assert(pthread_sigqueue(thread, SIGUSR1, (union sigval){.sival_int = 3}) == 0);
    pthread_join(thread, NULL);
    return 0;
}
