// Two threads wait for the end of a third.
// expect: bug sync_misuse 0
#include <pthread.h>

static pthread_t third;

static void *ends(void *unused) {
    return unused;
}

static void *joins(void *unused) {
    pthread_join(third, 0);
    return unused;
}

int main(void) {
    pthread_t other;
    pthread_create(&third, 0, ends, 0);
    pthread_create(&other, 0, joins, 0);
    pthread_join(third, 0);
    pthread_join(other, 0);
}
