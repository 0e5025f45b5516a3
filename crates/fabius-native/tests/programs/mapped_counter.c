// A thread that counts in memory it has mapped does not repeat itself: it gives up waiting, and the other thread fails.
// expect: bug assertion 0
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
static atomic_int flag, gave_up;
static int more(int *tries) { return ++*tries < 5; }
static void *wait(void *unused) {
    int *tries = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    while (!flag) {
        if (!more(tries)) {
            gave_up = 1;
            return unused;
        }
        sched_yield();
    }
    return unused;
}
static void *set(void *unused) {
    flag = 1;
    assert(!gave_up);
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, wait, 0);
    pthread_create(&b, 0, set, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
