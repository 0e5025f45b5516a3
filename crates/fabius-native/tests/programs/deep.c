// expect: bug crash 0
#include <pthread.h>
static int descend(int n) {
    volatile char room[1000];
    room[0] = (char)n;
    return n < 0 ? 0 : descend(n + 1) + room[0];
}
static void *run(void *unused) {
    descend(0);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
}
