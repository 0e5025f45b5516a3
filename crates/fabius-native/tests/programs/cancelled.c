// A thread that is asked to end while it waits for a condition runs its handlers, which own the mutex.
// expect: verified
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int cleaned;
static void clean(void *unused) {
    cleaned = 1;
    pthread_mutex_unlock(&mutex);
}
static void *wait_for_ever(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(clean, 0);
    for (;;) pthread_cond_wait(&cond, &mutex);
    pthread_cleanup_pop(0);
    return unused;
}
int main(void) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, 0, wait_for_ever, 0);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    assert(result == PTHREAD_CANCELED);
    pthread_mutex_lock(&mutex);
    assert(cleaned);
}
