// A barrier of a counter and a condition, used twice. The wrong version has no rounds: who comes late in the first one
// waits for the second.
// expect: bug deadlock cost 0
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>

enum { N = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all = PTHREAD_COND_INITIALIZER;
static int arrived, round;

static void meet(void) {
    pthread_mutex_lock(&lock);
    int mine = round;
    if (++arrived == N) {
        arrived = 0;
        round++;
        pthread_cond_broadcast(&all);
    } else {
#ifdef FIXED
        while (mine == round)
            pthread_cond_wait(&all, &lock);
#else
        while (arrived != 0)
            pthread_cond_wait(&all, &lock);
#endif
    }
    pthread_mutex_unlock(&lock);
}

static void *work(void *unused) {
    meet();
    meet();
    return NULL;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, NULL, work, NULL);
    meet();
    meet();
    pthread_join(a, NULL);
    assert(round == 2);
    return 0;
}
