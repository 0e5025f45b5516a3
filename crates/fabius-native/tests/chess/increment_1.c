// Main and a thread increment one counter.
// verdict: ok
// executions: 2 3 3
// classes: 2 2 2
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static void *work(void *unused) {
    x++;
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    x++;
    pthread_join(thread, 0);
}
