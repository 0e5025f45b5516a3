// A bounded queue with two condition variables.
#include <assert.h>
#include <pthread.h>
enum { SIZE = 2, ITEMS = 4 };
static int items[SIZE], head, count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t room = PTHREAD_COND_INITIALIZER, more = PTHREAD_COND_INITIALIZER;
static void *produce(void *unused) {
    for (int i = 1; i <= ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (count == SIZE) pthread_cond_wait(&room, &lock);
        items[(head + count++) % SIZE] = i;
        pthread_cond_signal(&more);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, produce, 0);
    for (int i = 1; i <= ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (count == 0) pthread_cond_wait(&more, &lock);
        assert(items[head] == i);
        head = (head + 1) % SIZE;
        count--;
        pthread_cond_signal(&room);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(thread, 0);
}
