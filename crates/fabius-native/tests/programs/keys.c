// expect: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static pthread_key_t key;
static atomic_int destroyed;
static void destroy(void *value) { destroyed += (long)value; }
static void *use(void *argument) {
    assert(pthread_getspecific(key) == 0);
    pthread_setspecific(key, argument);
    return 0;
}
int main(void) {
    pthread_t threads[2];
    pthread_key_create(&key, destroy);
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, use, (void *)(i + 1));
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    assert(destroyed == 3);
}
