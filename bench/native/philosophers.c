// Philosophers who take the lower fork first.
#include <pthread.h>
#ifndef THREADS
#define THREADS 5
#endif
static pthread_mutex_t forks[THREADS];
static void *dine(void *argument) {
    long me = (long)argument, other = (me + 1) % THREADS;
    long low = me < other ? me : other, high = me < other ? other : me;
    pthread_mutex_lock(&forks[low]);
    pthread_mutex_lock(&forks[high]);
    pthread_mutex_unlock(&forks[high]);
    pthread_mutex_unlock(&forks[low]);
    return 0;
}
int main(void) {
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, dine, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
}
