// A sequence lock: who reads looks at the number again behind the two values, or forgets to.
// expect: bug assertion cost 1
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_uint sequence;
static atomic_int x, y;

static void *writer(void *unused) {
    (void)unused;
    atomic_fetch_add(&sequence, 1);
    atomic_store(&x, 1);
    atomic_store(&y, 1);
    atomic_fetch_add(&sequence, 1);
    return NULL;
}

static void *reader(void *unused) {
    (void)unused;
    unsigned before = atomic_load(&sequence);
    int a = atomic_load(&x);
    int b = atomic_load(&y);
#ifdef FIXED
    if (before % 2 == 0 && atomic_load(&sequence) == before)
#else
    if (before % 2 == 0)
#endif
        assert(a == b);
    return NULL;
}

int main(void) {
    pthread_t w, r;
    pthread_create(&w, NULL, writer, NULL);
    pthread_create(&r, NULL, reader, NULL);
    pthread_join(w, NULL);
    pthread_join(r, NULL);
    return 0;
}
