// `pthread_exit` runs cleanup handlers; a thread that is cancelled, too.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <unistd.h>
static int cleaned;
static void clean(void *by) { cleaned += (int)(long)by; }
static void *leave(void *unused) {
    pthread_cleanup_push(clean, (void *)1);
    pthread_exit((void *)7);
    pthread_cleanup_pop(0);
    return unused;
}
static void *wait(void *unused) {
    pthread_cleanup_push(clean, (void *)2);
    for (;;) usleep(10);
    pthread_cleanup_pop(0);
    return unused;
}
int main(void) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, 0, leave, 0);
    pthread_join(thread, &result);
    assert(result == (void *)7 && cleaned == 1);
    pthread_create(&thread, 0, wait, 0);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    assert(result == PTHREAD_CANCELED && cleaned == 3);
}
