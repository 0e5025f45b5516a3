// Nobody may rely on it that work is done before a timer runs out that is read as a file.
// expect: bug assertion 0
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>
static atomic_int is_done;
static void *works(void *unused) {
    is_done = 1;
    return unused;
}
int main(void) {
    pthread_t thread;
    struct itimerspec minute = {.it_value.tv_sec = 60};
    uint64_t count;
    int timer = timerfd_create(CLOCK_REALTIME, 0);
    timerfd_settime(timer, 0, &minute, NULL);
    pthread_create(&thread, NULL, works, NULL);
    assert(read(timer, &count, sizeof count) == sizeof count);
    assert(is_done);
    pthread_join(thread, NULL);
}
