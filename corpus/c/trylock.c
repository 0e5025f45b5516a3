// A job that is done if the lock is free. The wrong version goes on without it.
// expect: bug sync_misuse cost 1
// expect FIXED=1: verified
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int jobs;

static void *work(void *unused) {
#ifdef FIXED
    if (pthread_mutex_trylock(&lock) != 0)
        return NULL;
#else
    pthread_mutex_trylock(&lock);
#endif
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return jobs;
}
