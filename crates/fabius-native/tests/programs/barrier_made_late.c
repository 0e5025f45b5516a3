// expect: bug sync_misuse 1
// The thread comes to the barrier before it is made.
#include <pthread.h>

static pthread_barrier_t barrier;

static void *run(void *argument) {
    pthread_barrier_wait(&barrier);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_barrier_init(&barrier, 0, 2);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, 0);
    return 0;
}
