// Exchanges that fail and are tried again with something else, kept on the heap, in a global variable, in a register: none of
// them waits for another value.
// flags: -O2
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node { struct node *next; };
static _Atomic(struct node *) top;
static atomic_int count;
static _Thread_local int seen;

static void *push(void *argument) {
    struct node *mine = malloc(sizeof *mine);
    mine->next = top;
    while (!atomic_compare_exchange_weak(&top, &mine->next, mine)) {}
    while (!atomic_compare_exchange_strong(&count, &seen, seen + 1)) {}
    for (int old = count; !__sync_bool_compare_and_swap((int *)&count, old, old + 1); old = count) {}
    return argument;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, push, NULL);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    int nodes = 0;
    for (struct node *at = top; at; at = at->next) nodes++;
    assert(nodes == 2 && count == 4);
}
