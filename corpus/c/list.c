// A list under a lock; the wrong version looks at a node after the lock is given back.
// expect: bug memory cost 1
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct node {
    struct node *next;
    int value;
};

static struct {
    pthread_mutex_t lock;
    struct node *first;
} list = { PTHREAD_MUTEX_INITIALIZER, NULL };

static void push(int value) {
    struct node *n = malloc(sizeof *n);
    n->value = value;
    pthread_mutex_lock(&list.lock);
    n->next = list.first;
    list.first = n;
    pthread_mutex_unlock(&list.lock);
}

static int top(void) {
    int value = 0;
    pthread_mutex_lock(&list.lock);
    struct node *n = list.first;
#ifdef FIXED
    if (n)
        value = n->value;
    pthread_mutex_unlock(&list.lock);
#else
    pthread_mutex_unlock(&list.lock);
    pthread_mutex_lock(&list.lock);
    if (n)
        value = n->value;
    pthread_mutex_unlock(&list.lock);
#endif
    return value;
}

static void pop(void) {
    pthread_mutex_lock(&list.lock);
    struct node *n = list.first;
    if (n) {
        list.first = n->next;
        free(n);
    }
    pthread_mutex_unlock(&list.lock);
}

static void *remover(void *unused) {
    pop();
    return NULL;
}

int main(void) {
    pthread_t t;
    push(1);
    push(2);
    pthread_create(&t, NULL, remover, NULL);
    int seen = top();
    pthread_join(t, NULL);
    assert(seen == 1 || seen == 2);
    return 0;
}
