// A queue with a lock for each end: the dummy node that both see is handed on inside of the lock, or outside.
// expect: bug data_race cost 0
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
    int item;
    _Atomic(struct node *) next;
};

static struct node dummy;
static struct node *head = &dummy, *tail = &dummy;
static pthread_mutex_t head_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t tail_lock = PTHREAD_MUTEX_INITIALIZER;

static void put(struct node *n) {
    pthread_mutex_lock(&tail_lock);
#ifdef FIXED
    n->item = 7;
    tail->next = n;
#else
    tail->next = n;
    n->item = 7;
#endif
    tail = n;
    pthread_mutex_unlock(&tail_lock);
}

static int get(int *item) {
    int found = 0;
    pthread_mutex_lock(&head_lock);
    struct node *next = head->next;
    if (next) {
        *item = next->item;
        head = next;
        found = 1;
    }
    pthread_mutex_unlock(&head_lock);
    return found;
}

static struct node nodes[2];

static void *producer(void *unused) {
    (void)unused;
    put(&nodes[0]);
    put(&nodes[1]);
    return NULL;
}

static void *consumer(void *unused) {
    (void)unused;
    int item;
    if (get(&item))
        assert(item == 7);
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
