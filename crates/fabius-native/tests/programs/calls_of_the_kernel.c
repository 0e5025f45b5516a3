// What `syscall` asks for is done as by the function of that name: it waits at a scheduling point.
// expect: bug assertion 0
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ends[2], data;
static _Atomic int count;
static void *other(void *unused) {
    data = 5;
    syscall(SYS_write, ends[1], "a", 1L);
    int now = count;
    syscall(SYS_sched_yield);
    count = now + 1;
    return unused;
}

int main(void) {
    pthread_t thread;
    char byte = 0;
    assert(pipe(ends) == 0 && syscall(SYS_gettid) == gettid() && syscall(SYS_read, -1, &byte, 1L) == -1);
    pthread_create(&thread, NULL, other, NULL);
    assert(syscall(SYS_read, ends[0], &byte, 1L) == 1 && byte == 'a' && data == 5);
    count++;
    pthread_join(thread, NULL);
    assert(count == 2);
    syscall(SYS_exit_group, 0);
    assert(0);
}
