// Who has found no unit in a loop waits for one: 28 executions, where half a million did not suffice.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static sem_t s;
static int shared;

static void *takes(void *argument) {
    while (sem_trywait(&s) != 0) {}
    shared++;
    sem_post(&s);
    return argument;
}

int main(void) {
    pthread_t a, b;
    sem_init(&s, 0, 0);
    pthread_create(&a, NULL, takes, NULL);
    pthread_create(&b, NULL, takes, NULL);
    sem_post(&s);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(shared == 2);
}
