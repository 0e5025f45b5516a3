// Who is let through frees the semaphore before the other one has raised it a second time.
// expect: bug memory 1
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

static sem_t *semaphore;

static void *post(void *unused) {
    sem_post(semaphore);
    sem_post(semaphore);
    return unused;
}

int main(void) {
    semaphore = malloc(sizeof(sem_t));
    sem_init(semaphore, 0, 0);
    pthread_t thread;
    pthread_create(&thread, 0, post, 0);
    sem_wait(semaphore);
    free(semaphore);
    pthread_join(thread, 0);
}
