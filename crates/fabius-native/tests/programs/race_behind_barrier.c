// expect: bug data_race 0
#include <pthread.h>
static int x;
static pthread_barrier_t barrier;
static void *run(void *unused) {
    pthread_barrier_wait(&barrier);
    x = x + 1;
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
