// A driver that counts its users, and stops when the last one has left.
#include <pthread.h>
#include <stdatomic.h>
static atomic_int users = 1, stopping, left, stopped, seen;
static int enter(void) {
    users++;
    if (!stopping) return 1;
    if (--users == 0) left = 1;
    return 0;
}
static void leave(void) {
    if (--users == 0) left = 1;
}
static void *work(void *unused) {
    if (enter()) {
        seen += stopped;
        leave();
    }
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    stopping = 1;
    leave();
    if (left) stopped = 1;
    pthread_join(thread, 0);
}
