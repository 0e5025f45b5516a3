// Main and a thread increment a counter each.
// verdict: ok
// executions: 2 3 3
// classes: 1 1 1
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y;
static void *work(void *unused) {
    y++;
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    x++;
    pthread_join(thread, 0);
}
