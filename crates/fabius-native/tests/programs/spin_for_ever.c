// expect: bug livelock 0
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
static atomic_int flag;
static void *wait(void *unused) {
    while (!flag) sched_yield();
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, wait, 0);
    pthread_create(&b, 0, wait, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
