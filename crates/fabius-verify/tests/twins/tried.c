#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, over;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void *t(void *unused) {
    pthread_mutex_lock(&m);
    x = 1;
    int o = over;
    if (!o)
        pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    x = 2;
    return unused;
}
static void *u(void *unused) {
    pthread_cond_signal(&c);
    int p = x;
    int got = pthread_mutex_trylock(&m) == 0;
    if (got)
        pthread_mutex_unlock(&m);
    pthread_cond_signal(&c);
    int q = x;
    assert(!(BUG && q == 2));
    return unused;
}
int main(void) {
    pthread_t h, k;
    pthread_create(&h, 0, t, 0);
    pthread_create(&k, 0, u, 0);
    pthread_join(k, 0);
    pthread_mutex_lock(&m);
    over = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    pthread_join(h, 0);
}
