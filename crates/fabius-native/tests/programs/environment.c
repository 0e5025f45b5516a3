// The environment belongs to all threads.
// expect: bug assertion 0
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static void *set(void *value) {
    setenv("WHO", value, 1);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, set, "a");
    pthread_create(&b, 0, set, "b");
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(*getenv("WHO") == 'b');
}
