// A thread posts one semaphore and waits for another; main waits for the first and posts the second.
// verdict: ok
// executions: 1 1 1
// classes: 1 1 1
#include <pthread.h>
#include <semaphore.h>
static sem_t first, second;
static void *work(void *unused) {
    sem_post(&first);
    sem_wait(&second);
    return unused;
}
int main(void) {
    pthread_t thread;
    sem_init(&first, 0, 0);
    sem_init(&second, 0, 0);
    pthread_create(&thread, 0, work, 0);
    sem_wait(&first);
    sem_post(&second);
    pthread_join(thread, 0);
}
