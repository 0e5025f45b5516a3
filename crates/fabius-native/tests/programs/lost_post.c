// What was posted before a semaphore is initialized is lost.
// expect: bug deadlock 1
#include <pthread.h>
#include <semaphore.h>
static sem_t semaphore;
static void *run(void *unused) {
    sem_post(&semaphore);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    sem_init(&semaphore, 0, 0);
    sem_wait(&semaphore);
    pthread_join(thread, NULL);
}
