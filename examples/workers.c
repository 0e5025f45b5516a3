/* As many workers as there is work, each of which counts itself in and out: at most two may work at a time. */
#include <pthread.h>

extern void reach_error(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char working;

static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    if (working == 2) {
        pthread_mutex_unlock(&lock);
        return NULL;
    }
#ifdef WRONG
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
#endif
    working++;
    if (working > 2)
        reach_error();
    pthread_mutex_unlock(&lock);

    pthread_mutex_lock(&lock);
    working--;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    while (1)
        pthread_create(&worker, NULL, work, NULL);
}
