// A timer that runs out again and again may have done so more than once when it is read.
// expect: bug assertion 0
#include <assert.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>
int main(void) {
    struct itimerspec seconds = {.it_value.tv_sec = 1, .it_interval.tv_sec = 1};
    uint64_t count;
    int timer = timerfd_create(CLOCK_REALTIME, 0);
    timerfd_settime(timer, 0, &seconds, NULL);
    for (int i = 0; i < 3; i++) assert(read(timer, &count, sizeof count) == sizeof count && count == 1);
}
