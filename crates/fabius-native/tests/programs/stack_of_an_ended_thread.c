// A thread returns the address of a local variable, which is used when the thread has been joined, and another one made.
// expect: bug memory 0
#include <pthread.h>
static void *leaves(void *unused) {
    int x = 7;
    int *volatile p = &x;
    return p;
}
static void *other(void *unused) { return unused; }
int main(void) {
    pthread_t thread;
    void *left;
    pthread_create(&thread, 0, leaves, 0);
    pthread_join(thread, &left);
    pthread_create(&thread, 0, other, 0);
    pthread_join(thread, 0);
    *(int *)left = 3;
}
