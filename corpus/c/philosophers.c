// Three philosophers who all take the left fork first; repaired: the last one begins on the right.
// expect: bug deadlock cost 1
// expect FIXED=1: verified
#include <pthread.h>

enum { N = 3 };

static pthread_mutex_t forks[N];

static void *dine(void *arg) {
    int me = (int)(long)arg;
    int first = me, second = (me + 1) % N;
#ifdef FIXED
    if (first > second) {
        int swap = first;
        first = second;
        second = swap;
    }
#endif
    pthread_mutex_lock(&forks[first]);
    pthread_mutex_lock(&forks[second]);
    pthread_mutex_unlock(&forks[second]);
    pthread_mutex_unlock(&forks[first]);
    return NULL;
}

int main(void) {
    pthread_t all[N];
    for (int i = 0; i < N; i++)
        pthread_mutex_init(&forks[i], NULL);
    for (long i = 0; i < N; i++)
        pthread_create(&all[i], NULL, dine, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(all[i], NULL);
    return 0;
}
