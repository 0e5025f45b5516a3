// An event that is waited for by epoll, told of once, and not read: who is told comes after who wrote.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
static int event, data;
static void *notify(void *unused) {
    uint64_t one = 1;
    data = 7;
    assert(write(event, &one, 8) == 8);
    return unused;
}
int main(void) {
    pthread_t thread;
    struct epoll_event about = {.events = EPOLLIN | EPOLLET, .data.u64 = 42}, got;
    int files = epoll_create1(0);
    event = eventfd(0, 0);
    assert(files >= 0 && event >= 0 && epoll_ctl(files, EPOLL_CTL_ADD, event, &about) == 0);
    pthread_create(&thread, 0, notify, 0);
    assert(epoll_wait(files, &got, 1, -1) == 1 && got.data.u64 == 42 && data == 7);
    assert(epoll_wait(files, &got, 1, 0) == 0);
    pthread_join(thread, 0);
}
