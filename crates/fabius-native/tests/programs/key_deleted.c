// A key may be deleted before a thread ends that has a value of it: then nobody destroys that.
// expect: bug assertion 1
#include <assert.h>
#include <pthread.h>
static pthread_key_t key;
static int destroyed;
static void destroy(void *value) { destroyed = value != 0; }
static void *use(void *argument) {
    pthread_setspecific(key, argument);
    return 0;
}
int main(void) {
    pthread_t thread;
    pthread_key_create(&key, destroy);
    pthread_create(&thread, 0, use, &key);
    pthread_key_delete(key);
    pthread_join(thread, 0);
    assert(!destroyed);
}
