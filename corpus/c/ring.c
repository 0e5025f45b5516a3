// A ring buffer with two condition variables in one: `signal` may wake the wrong side.
// expect: bug deadlock cost 0
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>

#define SIZE 1

struct ring {
    int items[SIZE];
    unsigned head, tail;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static struct ring ring = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void wake(struct ring *r) {
#ifdef FIXED
    pthread_cond_broadcast(&r->changed);
#else
    pthread_cond_signal(&r->changed);
#endif
}

static void put(struct ring *r, int item) {
    pthread_mutex_lock(&r->lock);
    while (r->head - r->tail == SIZE)
        pthread_cond_wait(&r->changed, &r->lock);
    r->items[r->head++ % SIZE] = item;
    wake(r);
    pthread_mutex_unlock(&r->lock);
}

static int get(struct ring *r) {
    pthread_mutex_lock(&r->lock);
    while (r->head == r->tail)
        pthread_cond_wait(&r->changed, &r->lock);
    int item = r->items[r->tail++ % SIZE];
    wake(r);
    pthread_mutex_unlock(&r->lock);
    return item;
}

static void *producer(void *r) {
    put(r, 1);
    return NULL;
}

static void *consumer(void *r) {
    assert(get(r) == 1);
    return NULL;
}

int main(void) {
    pthread_t p[2], c[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&c[i], NULL, consumer, &ring);
        pthread_create(&p[i], NULL, producer, &ring);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(c[i], NULL);
        pthread_join(p[i], NULL);
    }
    return 0;
}
