// expect: bug assertion 1
// Who need not wait may have been asked to end in time, and leaves what there is.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

static sem_t semaphore;
static atomic_int comes;

static void *run(void *argument) {
    comes = 1;
    sem_wait(&semaphore);
    return argument;
}

int main(void) {
    pthread_t thread;
    int left;
    void *result;
    sem_init(&semaphore, 0, 1);
    pthread_create(&thread, 0, run, 0);
    while (!comes) sched_yield();
    pthread_cancel(thread);
    pthread_join(thread, &result);
    sem_getvalue(&semaphore, &left);
    assert(left == 0);
    return 0;
}
