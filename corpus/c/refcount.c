// A reference count: the last one frees. Without an atomic decrement both may, or nobody.
// A load orders nothing with a later decrement either, so that it races with `free` without a preemption.
// expect: bug data_race cost 0
// expect FIXED=1: verified
#include <stdatomic.h>
#include <stdlib.h>
#include <pthread.h>

struct object {
    atomic_int references;
    int data;
};

static void put(struct object *o) {
#ifdef FIXED
    if (atomic_fetch_sub(&o->references, 1) == 1)
        free(o);
#else
    atomic_fetch_sub(&o->references, 1);
    if (atomic_load(&o->references) == 0)
        free(o);
#endif
}

static void *user(void *o) {
    put(o);
    return NULL;
}

int main(void) {
    struct object *o = malloc(sizeof *o);
    pthread_t a, b;
    o->data = 1;
    atomic_init(&o->references, 2);
    pthread_create(&a, NULL, user, o);
    pthread_create(&b, NULL, user, o);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
