// Read-write locks, barriers, semaphores, spin locks, recursive mutexes, initializers.
// expect: verified
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
static pthread_barrier_t barrier;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spin;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int initialized, count;
static void initialize(void) { initialized++; }
static void *work(void *unused) {
    pthread_once(&once, initialize);
    pthread_barrier_wait(&barrier);
    pthread_rwlock_wrlock(&rwlock);
    count++;
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_rdlock(&rwlock);
    assert(count >= 1);
    pthread_rwlock_unlock(&rwlock);
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    pthread_mutex_unlock(&recursive);
    pthread_mutex_unlock(&recursive);
    sem_post(&semaphore);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_barrier_init(&barrier, 0, 2);
    sem_init(&semaphore, 0, 0);
    pthread_spin_init(&spin, 0);
    pthread_create(&thread, 0, work, 0);
    pthread_barrier_wait(&barrier);
    sem_wait(&semaphore);
    assert(count == 1 && initialized == 1);
    pthread_join(thread, 0);
}
