// expect: bug null_dereference 2
#include <pthread.h>
#include <stdatomic.h>
static int value;
static _Atomic(int *) pointer = &value;
static void *blink(void *unused) {
    pointer = 0;
    pointer = &value;
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, blink, 0);
    int seen = *pointer;
    pthread_join(thread, 0);
    return seen;
}
