// A callback that can be taken away while it runs: its context is a struct around the list element that the caller knows.
// expect: bug data_race cost 0
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#define CONTAINER(pointer, type, field) ((type *)((char *)(pointer)-offsetof(type, field)))

struct link {
    struct link *next;
    void (*call)(struct link *);
};

struct timer {
    int fired;
    struct link link;
};

static struct link *registered;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void fire(struct link *l) {
    CONTAINER(l, struct timer, link)->fired++;
}

static void *clock_tick(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    struct link *l = registered;
#ifdef FIXED
    if (l)
        l->call(l);
    pthread_mutex_unlock(&lock);
#else
    pthread_mutex_unlock(&lock);
    if (l)
        l->call(l);
#endif
    return NULL;
}

static void *cancel(void *argument) {
    struct timer *t = argument;
    pthread_mutex_lock(&lock);
    registered = NULL;
    pthread_mutex_unlock(&lock);
    free(t);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    struct timer *t = malloc(sizeof(struct timer));
    t->fired = 0;
    t->link.next = NULL;
    t->link.call = fire;
    registered = &t->link;
    pthread_create(&a, NULL, clock_tick, NULL);
    pthread_create(&b, NULL, cancel, t);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
