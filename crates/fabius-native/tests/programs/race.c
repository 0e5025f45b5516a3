// expect: bug data_race 0
#include <pthread.h>
static int shared;
static void *write(void *unused) {
    shared = 1;
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, write, 0);
    int seen = shared;
    pthread_join(thread, 0);
    return seen > 1;
}
