// expect: bug data_race 0
#include <pthread.h>

static volatile int last;

static void *run(void *argument) {
    last = 1;
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    last = 2;
    pthread_join(thread, 0);
    return 0;
}
