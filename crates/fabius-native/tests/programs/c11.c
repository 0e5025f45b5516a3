// expect: verified
#include <assert.h>
#include <threads.h>
static mtx_t lock;
static cnd_t cond;
static int ready;
static int work(void *unused) {
    (void)unused;
    mtx_lock(&lock);
    ready = 1;
    cnd_signal(&cond);
    mtx_unlock(&lock);
    return 5;
}
int main(void) {
    thrd_t thread;
    int result;
    mtx_init(&lock, mtx_plain);
    cnd_init(&cond);
    thrd_create(&thread, work, 0);
    mtx_lock(&lock);
    while (!ready) cnd_wait(&cond, &lock);
    mtx_unlock(&lock);
    thrd_join(thread, &result);
    assert(result == 5);
}
