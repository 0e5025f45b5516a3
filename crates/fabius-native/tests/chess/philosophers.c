// Two philosophers try to take the left fork, then the right one; without it they put the left one back and sleep.
// verdict: ok
// executions: 18 83 253
// classes: 6 20 64
// ours: 7 28 81
// A thread that sleeps may go on at once, which CHESS has only where the other one has made a step since it slept last:
// there are more classes, though fewer executions. (With both of them as threads: 23 74 206 executions, 12 42 114 classes.)
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t forks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static void *eat(void *left) {
    pthread_mutex_t *mine = &forks[left != 0], *theirs = &forks[left == 0];
    for (;;) {
        if (pthread_mutex_trylock(mine) == 0) {
            if (pthread_mutex_trylock(theirs) == 0)
                break;
            pthread_mutex_unlock(mine);
        }
        usleep(1000);
    }
    pthread_mutex_unlock(theirs);
    pthread_mutex_unlock(mine);
    return 0;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, eat, 0);
    eat(forks);
    pthread_join(thread, 0);
}
