// The end of the process ends all threads, whatever its status.
// expect: verified
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int stage;
static void *leave(void *unused) {
    if (stage == 1) exit(3);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, leave, 0);
    stage = 1;
    stage = 2;
    pthread_join(thread, 0);
}
