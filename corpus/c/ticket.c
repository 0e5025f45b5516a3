// A ticket lock; the wrong version draws a ticket in two steps.
// expect: bug assertion cost 2
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static struct {
    atomic_uint next, serving;
} lock;
static atomic_int inside;

static void acquire(void) {
#ifdef FIXED
    unsigned mine = atomic_fetch_add(&lock.next, 1);
#else
    unsigned mine = lock.next;
    lock.next = mine + 1;
#endif
    while (lock.serving < mine)
        sched_yield();
}

static void *work(void *unused) {
    acquire();
    assert(++inside == 1);
    inside--;
    lock.serving++;
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
