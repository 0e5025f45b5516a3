// A thread-local variable of a thread that has called `pthread_exit`.
// expect: bug memory 0
#include <pthread.h>
static __thread int mine = 5;
static void *leaves(void *unused) { pthread_exit(&mine); }
int main(void) {
    pthread_t thread;
    void *left;
    pthread_create(&thread, 0, leaves, 0);
    pthread_join(thread, &left);
    return *(volatile int *)left == 6;
}
