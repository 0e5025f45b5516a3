// expect: bug data_race 0
// A thread may begin before the call that makes it has written who it is.
#include <pthread.h>

static pthread_t thread;
static int is_me;

static void *run(void *argument) {
    is_me = pthread_equal(thread, pthread_self());
    return argument;
}

int main(void) {
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
    return 0;
}
