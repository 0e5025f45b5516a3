// A data race becomes a scheduling point, and what it leads to is found behind it.
// expect: bug assertion 1
#include <assert.h>
#include <pthread.h>
static int count;
static void *add(void *unused) {
    count = count + 1;
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, add, 0);
    pthread_create(&b, 0, add, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(count == 2);
}
