// A timer that is read as a file: it is waited for as any other, says how often it has run out, and is set again.
// expect: verified
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>
static int timer, data;
static void *sets(void *unused) {
    struct itimerspec second = {.it_value.tv_sec = 1};
    data = 42;
    assert(timerfd_settime(timer, 0, &second, NULL) == 0);
    return unused;
}
int main(void) {
    pthread_t thread;
    struct itimerspec setting, long_ago = {.it_value.tv_sec = 1}, never = {0};
    uint64_t count;
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    assert(timer >= 0 && read(timer, &count, sizeof count) == -1 && errno == EAGAIN);
    assert(write(timer, &count, sizeof count) == -1 && errno == EINVAL);
    assert(timerfd_settime(0, 0, &never, NULL) == -1);
    struct pollfd file = {.fd = timer, .events = POLLIN};
    pthread_create(&thread, NULL, sets, NULL);
    assert(poll(&file, 1, -1) == 1);
    assert(read(timer, &count, sizeof count) == sizeof count && count == 1 && data == 42);
    pthread_join(thread, NULL);
    assert(timerfd_gettime(timer, &setting) == 0 && setting.it_value.tv_sec == 0 && setting.it_value.tv_nsec == 0);
    assert(timerfd_settime(timer, TFD_TIMER_ABSTIME, &long_ago, NULL) == 0 && poll(&file, 1, -1) == 1);
    assert(timerfd_settime(timer, 0, &never, NULL) == 0 && read(timer, &count, sizeof count) == -1 && errno == EAGAIN);
    close(timer);
}
