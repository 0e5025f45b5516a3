// Bytes of one word that are accessed by different threads do not race.
// expect: verified
#include <pthread.h>
static char flags[8];
static void *other(void *unused) {
    flags[1] = 1;
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    flags[0] = 1;
    pthread_join(thread, 0);
}
