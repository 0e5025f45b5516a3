// A worker that is told to stop. The wrong version sets the flag without the lock: the signal may come before the wait.
// expect: bug deadlock cost 2
// expect FIXED=1: verified
#include <pthread.h>
#include <stdatomic.h>

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t work;
    int jobs;
    atomic_int stop;
    int done;
};

static struct pool pool = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0 };

static void *worker(void *arg) {
    struct pool *p = arg;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (p->jobs == 0 && !p->stop)
            pthread_cond_wait(&p->work, &p->lock);
        if (p->jobs == 0)
            break;
        p->jobs--;
        p->done++;
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, worker, &pool);
    pthread_mutex_lock(&pool.lock);
    pool.jobs = 1;
    pthread_cond_signal(&pool.work);
    pthread_mutex_unlock(&pool.lock);
#ifdef FIXED
    pthread_mutex_lock(&pool.lock);
    pool.stop = 1;
    pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.lock);
#else
    pool.stop = 1;
    pthread_cond_broadcast(&pool.work);
#endif
    pthread_join(t, NULL);
    return pool.done == 1 ? 0 : 1;
}
