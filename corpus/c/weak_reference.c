// A cache that counts its own reference: who looks something up raises the count outside of the lock of the cache.
// expect: bug memory cost 1
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct entry {
    atomic_int references;
    int value;
};

static struct entry *cached;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void put(struct entry *e) {
    if (atomic_fetch_sub(&e->references, 1) == 1)
        free(e);
}

static void *reader(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    struct entry *e = cached;
#ifdef FIXED
    if (e)
        atomic_fetch_add(&e->references, 1);
    pthread_mutex_unlock(&lock);
#else
    pthread_mutex_unlock(&lock);
    if (e)
        atomic_fetch_add(&e->references, 1);
#endif
    if (e) {
        assert(e->value == 5);
        put(e);
    }
    return NULL;
}

static void *evict(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    struct entry *e = cached;
    cached = NULL;
    pthread_mutex_unlock(&lock);
    if (e)
        put(e);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    cached = malloc(sizeof(struct entry));
    cached->references = 1;
    cached->value = 5;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, evict, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
