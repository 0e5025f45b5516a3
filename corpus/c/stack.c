// A stack without locks, as indexes of nodes. The wrong version takes a node that went away and came back for unchanged.
// expect: bug assertion cost 1
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

// The top: an index from 1 in the low byte, and how often it was changed above.
static atomic_int top = 1;
static atomic_int next[3] = { 0, 2, 0 };
static atomic_int taken[3];

static int count(int t) {
#ifdef FIXED
    return (t & ~255) + 256;
#else
    return 0;
#endif
}

static int pop(void) {
    for (;;) {
        int t = top, node = t & 255;
        if (node == 0)
            return 0;
        int after = next[node];
        if (atomic_compare_exchange_strong(&top, &t, after + count(t))) {
            assert(atomic_fetch_add(&taken[node], 1) == 0);
            return node;
        }
    }
}

static void push(int node) {
    atomic_fetch_sub(&taken[node], 1);
    for (;;) {
        int t = top;
        next[node] = t & 255;
        if (atomic_compare_exchange_strong(&top, &t, node + count(t)))
            return;
    }
}

static void *slow(void *unused) {
    pop();
    pop();
    return NULL;
}

static void *quick(void *unused) {
    int a = pop();
    int b = pop();
    if (a)
        push(a);
    (void)b;
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, slow, NULL);
    pthread_create(&b, NULL, quick, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
