// flags: -D_GNU_SOURCE
// A timer that is set again or deleted does what it was set to last; a signal says which one it was.
// expect: verified

#include <assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

static atomic_int calls;

static void called(union sigval value) {
    assert(value.sival_int == 3);
    atomic_fetch_add(&calls, 1);
}

int main(void) {
    struct sigevent call = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = called, .sigev_value.sival_int = 3};
    struct sigevent send = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 4};
    struct itimerspec second = {.it_value.tv_sec = 1}, hour = {.it_value.tv_sec = 3600}, left;
    timer_t one, other;
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    assert(timer_create(CLOCK_MONOTONIC, &call, &one) == 0 && timer_create(CLOCK_MONOTONIC, &send, &other) == 0);
    assert(timer_settime(one, 0, &hour, NULL) == 0);
    assert(timer_gettime(one, &left) == 0 && left.it_value.tv_sec <= 3600);
    assert(timer_settime(other, 0, &second, NULL) == 0);
    assert(sigwaitinfo(&set, &info) == SIGUSR1);
    assert(info.si_code == SI_TIMER && info.si_value.sival_int == 4);
    assert(timer_delete(one) == 0 && timer_delete(other) == 0 && timer_delete(other) == -1);
    assert(atomic_load(&calls) <= 1);
    return 0;
}
