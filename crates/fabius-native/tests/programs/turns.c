// Three threads draw numbers and wait for their turns. How often a thread looks in vain makes no execution of its own: there
// were millions.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int next, serving;
static int shared;

static void *takes(void *argument) {
    int mine = atomic_fetch_add(&next, 1);
    if (argument) {
        while (serving != mine) {}
    } else {
        while (serving != mine) sched_yield();
    }
    shared++;
    serving = mine + 1;
    return NULL;
}

int main(void) {
    pthread_t t[3];
    for (long i = 0; i < 3; i++) pthread_create(&t[i], NULL, takes, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    assert(shared == 3);
}
