// One thread that ends at once; main joins.
// verdict: ok
// executions: 1 1 1
// classes: 1 1 1
#include <pthread.h>
static void *end(void *unused) { return unused; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, end, 0);
    pthread_join(thread, 0);
}
