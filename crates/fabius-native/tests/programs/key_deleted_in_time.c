// The other way round: the thread has its value, and is about to end, when the key is deleted.
// flags: -D_GNU_SOURCE
// expect: bug assertion 1
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
static pthread_key_t key;
static sem_t set;
static int destroyed;
static void destroy(void *value) { destroyed = value != 0; }
static void *use(void *argument) {
    pthread_setspecific(key, argument);
    sem_post(&set);
    return 0;
}
int main(void) {
    pthread_t thread;
    sem_init(&set, 0, 0);
    pthread_key_create(&key, destroy);
    pthread_create(&thread, 0, use, &key);
    sem_wait(&set);
    pthread_key_delete(key);
    pthread_join(thread, 0);
    assert(destroyed);
}
