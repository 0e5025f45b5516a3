// A loop without a scheduling point is no answer.
// expect: unknown no scheduling point
// slow: it takes seconds to be sure
#include <pthread.h>
static void *run(void *unused) {
    for (;;) {}
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
}
