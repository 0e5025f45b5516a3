// A thread that spins without giving way lets others go on.
// expect: verified
#include <pthread.h>
#include <stdatomic.h>
static atomic_int flag;
static void *wait(void *unused) {
    while (!flag) {}
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, wait, 0);
    flag = 1;
    pthread_join(thread, 0);
}
