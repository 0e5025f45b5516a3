// Data too large to be copied for every execution is restored all the same.
// expect: verified
#include <assert.h>
#include <pthread.h>
static char data[32 << 20];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *mark(void *unused) {
    pthread_mutex_lock(&lock);
    data[5000]++;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t thread;
    assert(data[5000] == 0);
    pthread_create(&thread, 0, mark, 0);
    mark(0);
    pthread_join(thread, 0);
    assert(data[5000] == 2);
}
