// A wait with a time limit may run out although somebody will signal.
// expect: bug assertion 0
#include <assert.h>
#include <pthread.h>
#include <time.h>
static int done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static void *finish(void *unused) {
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t thread;
    struct timespec until;
    pthread_create(&thread, 0, finish, 0);
    pthread_mutex_lock(&lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    while (!done)
        if (pthread_cond_timedwait(&cond, &lock, &until) != 0) assert(!"too late");
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
}
