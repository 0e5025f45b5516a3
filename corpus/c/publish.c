// A record is published by its pointer; the wrong version publishes it before it is filled.
// expect: bug assertion cost 1
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct record {
    atomic_int value;
};

static struct record *_Atomic current;

static void *reader(void *unused) {
    struct record *r = atomic_load(&current);
    if (r)
        assert(r->value == 7);
    return NULL;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, reader, NULL);
    struct record *r = malloc(sizeof *r);
    r->value = 0;
#ifdef FIXED
    r->value = 7;
    atomic_store(&current, r);
#else
    atomic_store(&current, r);
    r->value = 7;
#endif
    pthread_join(t, NULL);
    return 0;
}
