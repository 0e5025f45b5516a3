// A time with too many nanoseconds is none: who would wait until then is told so, and what is free is taken nonetheless.
// expect: verified
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
int main(void) {
    struct timespec never = {10, 2000000000}, before = {10, -1};
    pthread_mutex_lock(&mutex);
    assert(pthread_mutex_timedlock(&mutex, &never) == EINVAL);
    assert(pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &before) == EINVAL);
    assert(pthread_cond_timedwait(&cond, &mutex, &never) == EINVAL);
    assert(pthread_cond_clockwait(&cond, &mutex, CLOCK_REALTIME, &before) == EINVAL);
    pthread_mutex_unlock(&mutex);
    assert(pthread_mutex_timedlock(&mutex, &never) == 0);
    assert(pthread_rwlock_timedrdlock(&rwlock, &never) == EINVAL);
    assert(pthread_rwlock_timedwrlock(&rwlock, &before) == EINVAL);
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    assert(sem_timedwait(&semaphore, &never) == -1 && errno == EINVAL);
    assert(sem_clockwait(&semaphore, CLOCK_REALTIME, &before) == -1 && errno == EINVAL);
    assert(nanosleep(&never, 0) == -1 && errno == EINVAL);
    assert(clock_nanosleep(CLOCK_REALTIME, 0, &never, 0) == EINVAL);
}
