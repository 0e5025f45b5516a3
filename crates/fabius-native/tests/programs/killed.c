// A process that is killed leaves the schedule that led there.
// forked: the process ends
// expect: bug crash 1
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>
static atomic_int stage;
static void *strike(void *unused) {
    if (stage == 1) kill(getpid(), SIGKILL);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, strike, 0);
    stage = 1;
    stage = 2;
    pthread_join(thread, 0);
}
