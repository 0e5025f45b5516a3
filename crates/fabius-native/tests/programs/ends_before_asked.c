// A thread may pass all places at which it can be asked to end before it is asked.
// expect: bug assertion 1
#include <assert.h>
#include <pthread.h>
static void *run(void *unused) {
    pthread_testcancel();
    return unused;
}
int main(void) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, 0, run, 0);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    assert(result == PTHREAD_CANCELED);
}
