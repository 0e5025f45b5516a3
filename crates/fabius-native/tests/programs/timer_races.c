// What a timer calls races with the thread that it interrupts nowhere.
// expect: bug assertion 1

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

static int value;

static void called(union sigval unused) {
    value++;
}

int main(void) {
    struct sigevent call = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = called};
    struct itimerspec second = {.it_value.tv_sec = 1};
    timer_t timer;
    assert(timer_create(CLOCK_MONOTONIC, &call, &timer) == 0);
    timer_settime(timer, 0, &second, NULL);
    int before = value;
    value = before + 1;
    assert(value == before + 1);
    return 0;
}
