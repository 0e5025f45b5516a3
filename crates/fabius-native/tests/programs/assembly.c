// An atomic instruction in assembly is not seen, and the answer says so.
// expect: bounded
#include <pthread.h>
static int count;
static void *add(void *unused) {
    __asm__ volatile("lock addl $1, %0" : "+m"(count));
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, add, 0);
    pthread_join(thread, 0);
}
