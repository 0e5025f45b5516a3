// A lock-free stack of nodes that are never used twice.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct node { int value; struct node *next; };
static _Atomic(struct node *) top;
static void *push(void *argument) {
    struct node *mine = malloc(sizeof *mine);
    mine->value = (int)(long)argument;
    mine->next = top;
    while (!atomic_compare_exchange_weak(&top, &mine->next, mine)) {}
    return 0;
}
int main(void) {
    pthread_t threads[3];
    int sum = 0;
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], 0, push, (void *)(i + 1));
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    for (struct node *at = top; at; at = at->next) sum += at->value;
    assert(sum == 6);
}
