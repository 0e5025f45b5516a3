// How a signal was sent, who may be sent one, and which cannot be blocked. What is no length of time, and no key.
// expect: verified
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static int codes[2], count;

static void told(int signal, siginfo_t *how, void *context) {
    assert(signal == SIGUSR1 && how->si_pid == getpid());
    codes[count++] = how->si_code;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = told, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, NULL);
    assert(kill(getpid(), SIGUSR1) == 0 && codes[0] == SI_USER);
    assert(raise(SIGUSR1) == 0 && codes[1] == SI_TKILL);
    assert(kill(getpid(), 0) == 0);
    assert(kill(4000000, SIGUSR1) == -1 && errno == ESRCH);
    assert(kill(getpid(), 65) == -1 && errno == EINVAL);

    sigset_t all, now;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    assert(!sigismember(&now, SIGKILL) && !sigismember(&now, SIGSTOP) && sigismember(&now, SIGUSR2));

    struct timespec before = {-1, 0}, none = {0, 1000000000};
    assert(nanosleep(&before, NULL) == -1 && errno == EINVAL);
    assert(sigtimedwait(&all, NULL, &none) == -1 && errno == EINVAL);

    pthread_key_t key, more;
    assert(pthread_key_create(&key, NULL) == 0 && pthread_key_delete(key) == 0);
    assert(pthread_key_delete(key) == EINVAL && pthread_setspecific(key, &key) == EINVAL);
    int made = 0;
    while (pthread_key_create(&more, NULL) == 0) made++;
    assert(pthread_key_create(&more, NULL) == EAGAIN && made > 1000 && made <= 1024);
}
