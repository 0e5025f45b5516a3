// A sorted list with a lock in each node, locked hand over hand: the wrong one lets go of a node before it has the next one.
// expect: bug data_race cost 0
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct node {
    pthread_mutex_t lock;
    int key;
    struct node *next;
};

static struct node nodes[2];
static struct node first;

static void insert(struct node *n) {
    struct node *before = &first;
    pthread_mutex_lock(&before->lock);
    while (before->next && before->next->key < n->key) {
        struct node *next = before->next;
#ifdef FIXED
        pthread_mutex_lock(&next->lock);
        pthread_mutex_unlock(&before->lock);
#else
        pthread_mutex_unlock(&before->lock);
        pthread_mutex_lock(&next->lock);
#endif
        before = next;
    }
#ifdef FIXED
    n->next = before->next;
    before->next = n;
    pthread_mutex_unlock(&before->lock);
#else
    struct node *behind = before->next;
    pthread_mutex_unlock(&before->lock);
    n->next = behind;
    before->next = n;
#endif
}

static void *run(void *argument) {
    insert(argument);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    pthread_mutex_init(&first.lock, NULL);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_init(&nodes[i].lock, NULL);
        nodes[i].key = i + 1;
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, &nodes[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(first.next == &nodes[0] && nodes[0].next == &nodes[1]);
    return 0;
}
