// Main and two threads increment one counter.
// verdict: ok
// executions: 10 20 26
// classes: 6 6 6
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static void *work(void *unused) {
    x++;
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    x++;
    pthread_join(a, 0);
    pthread_join(b, 0);
}
