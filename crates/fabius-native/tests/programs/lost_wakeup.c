// expect: bug deadlock 1
#include <pthread.h>
#include <stdatomic.h>
static atomic_int ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static void *tell(void *unused) {
    ready = 1;
    pthread_cond_signal(&cond);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, tell, 0);
    pthread_mutex_lock(&lock);
    while (!ready) pthread_cond_wait(&cond, &lock);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
}
