// A work-stealing queue: its owner pushes and pops at the tail without the lock where it can, a thief takes the lock and steals
// at the head. One item is taken twice.
// verdict: bug assertion 2
// executions: 34 205 559
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#define MASK 3
static atomic_long head, tail;
static int items[MASK + 1], taken[4];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void take(int item) {
    assert(taken[item] == 0);
    taken[item] = 1;
}
static void push(int item) {
    long t = tail;
    items[t & MASK] = item;
    tail = t + 1;
}
static int pop(int *item) {
    long t = tail - 1;
    tail = t;
    if (head <= t) {
        *item = items[t & MASK];
        return 1;
    }
    tail = t + 1;
    pthread_mutex_lock(&lock);
    t = tail - 1;
    tail = t;
    int found = head <= t;
    if (found)
        *item = items[t & MASK];
    else
        tail = t + 1;
    pthread_mutex_unlock(&lock);
    return found;
}
static int steal(int *item) {
    pthread_mutex_lock(&lock);
    long h = head;
    int found = h < tail;
    if (found) {
        // The owner is told too late that this item is going.
        *item = items[h & MASK];
        head = h + 1;
    }
    pthread_mutex_unlock(&lock);
    return found;
}
static void *thief(void *unused) {
    int item;
    if (steal(&item))
        take(item);
    return unused;
}
int main(void) {
    pthread_t thread;
    int item;
    pthread_create(&thread, 0, thief, 0);
    push(0);
    push(1);
    if (pop(&item))
        take(item);
    push(2);
    if (pop(&item))
        take(item);
    if (pop(&item))
        take(item);
    pthread_join(thread, 0);
}
