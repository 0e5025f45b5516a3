// A thread that nobody joins may fail before `main` returns.
// expect: bug assertion 1
#include <assert.h>
#include <pthread.h>
static void *fail(void *unused) {
    assert(0);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, fail, 0);
    return 0;
}
