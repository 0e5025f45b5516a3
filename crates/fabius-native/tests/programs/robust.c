// Who takes a robust mutex whose owner has ended is told so, and makes it consistent; otherwise nobody gets it any more.
// expect: verified
#include <assert.h>
#include <errno.h>
#include <pthread.h>
static pthread_mutex_t mutex, other;
static int data;
static void *ends(void *unused) {
    assert(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_lock(&other) == 0);
    data = 1;
    return unused;
}
static void *takes(void *unused) {
    int got = pthread_mutex_lock(&mutex);
    assert(got == 0 || got == EOWNERDEAD);
    if (got == EOWNERDEAD) {
        assert(data == 1 && pthread_mutex_consistent(&mutex) == 0);
        data = 2;
    }
    assert(pthread_mutex_unlock(&mutex) == 0);
    return unused;
}
int main(void) {
    pthread_t one, two;
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &robust);
    pthread_mutex_init(&other, &robust);
    pthread_create(&one, 0, ends, 0);
    pthread_create(&two, 0, takes, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    int got = pthread_mutex_trylock(&mutex);
    assert(got == (data == 2 ? 0 : EOWNERDEAD));
    assert(pthread_mutex_lock(&other) == EOWNERDEAD && pthread_mutex_unlock(&other) == 0);
    assert(pthread_mutex_lock(&other) == ENOTRECOVERABLE);
}
