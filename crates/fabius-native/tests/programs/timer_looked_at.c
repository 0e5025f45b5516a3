// A timer may have run out before somebody asks how much is left.
// expect: bug assertion 1
#include <assert.h>
#include <sys/timerfd.h>
int main(void) {
    struct itimerspec second = {.it_value.tv_sec = 1}, left;
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    timerfd_settime(timer, 0, &second, 0);
    timerfd_gettime(timer, &left);
    assert(left.it_value.tv_sec || left.it_value.tv_nsec);
}
