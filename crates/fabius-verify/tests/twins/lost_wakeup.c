#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int ready;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void *t(void *unused) {
    if (!ready) {
        pthread_mutex_lock(&m);
        pthread_cond_wait(&c, &m);
        pthread_mutex_unlock(&m);
    }
    return unused;
}
static void *u(void *unused) {
    ready = 1;
    pthread_cond_signal(&c);
    return unused;
}
int main(void) {
    pthread_t h, k;
    pthread_create(&h, 0, t, 0);
    pthread_create(&k, 0, u, 0);
    pthread_join(h, 0);
    pthread_join(k, 0);
}
