// expect: bug division_by_zero 2
#include <pthread.h>
#include <stdatomic.h>
static atomic_int divisor = 1;
static void *blink(void *unused) {
    divisor = 0;
    divisor = 1;
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, blink, 0);
    int result = 10 / divisor;
    pthread_join(thread, 0);
    return result != 10;
}
