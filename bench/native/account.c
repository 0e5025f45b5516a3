// Deposits under a lock.
#include <assert.h>
#include <pthread.h>
#ifndef THREADS
#define THREADS 4
#endif
static int balance;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *deposit(void *unused) {
    pthread_mutex_lock(&lock);
    balance++;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, deposit, 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    assert(balance == THREADS);
}
