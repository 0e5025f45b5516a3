// Read, copy, update: the old version is freed when all readers that may have it are gone; the wrong one does not wait for them.
// expect: bug data_race cost 0
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct version {
    int a, b;
};

static _Atomic(struct version *) current;
static atomic_int reading;

static void *reader(void *unused) {
    (void)unused;
    atomic_fetch_add(&reading, 1);
    struct version *v = atomic_load(&current);
    assert(v->a == v->b);
    atomic_fetch_sub(&reading, 1);
    return NULL;
}

static void *updater(void *unused) {
    (void)unused;
    struct version *old = atomic_load(&current);
    struct version *new = malloc(sizeof(struct version));
    new->a = old->a + 1;
    new->b = old->b + 1;
    atomic_store(&current, new);
#ifdef FIXED
    /* Who still reads the old version keeps it. */
    if (atomic_load(&reading) != 0)
        return NULL;
#endif
    free(old);
    return NULL;
}

int main(void) {
    pthread_t r, u;
    struct version *v = malloc(sizeof(struct version));
    v->a = v->b = 1;
    atomic_store(&current, v);
    pthread_create(&r, NULL, reader, NULL);
    pthread_create(&u, NULL, updater, NULL);
    pthread_join(r, NULL);
    pthread_join(u, NULL);
    return 0;
}
