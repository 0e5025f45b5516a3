// A ring for one producer and one consumer, without a lock: the producer publishes the slot before it has written it.
// expect: bug data_race cost 0
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { SIZE = 2, ITEMS = 2 };

static int slots[SIZE];
static atomic_uint head, tail;

static int push(int item) {
    unsigned h = atomic_load(&head);
    if (h - atomic_load(&tail) == SIZE)
        return 0;
#ifdef FIXED
    slots[h % SIZE] = item;
    atomic_store(&head, h + 1);
#else
    atomic_store(&head, h + 1);
    slots[h % SIZE] = item;
#endif
    return 1;
}

static int pop(int *item) {
    unsigned t = atomic_load(&tail);
    if (t == atomic_load(&head))
        return 0;
    *item = slots[t % SIZE];
    atomic_store(&tail, t + 1);
    return 1;
}

static void *producer(void *unused) {
    (void)unused;
    for (int i = 1; i <= ITEMS; i++)
        push(i);
    return NULL;
}

static void *consumer(void *unused) {
    (void)unused;
    int item, last = 0;
    for (int i = 0; i < ITEMS; i++)
        if (pop(&item)) {
            assert(item == last + 1);
            last = item;
        }
    return NULL;
}

int main(void) {
    pthread_t p, c;
    pthread_create(&p, NULL, producer, NULL);
    pthread_create(&c, NULL, consumer, NULL);
    pthread_join(p, NULL);
    pthread_join(c, NULL);
    return 0;
}
