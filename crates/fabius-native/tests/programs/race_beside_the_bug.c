// The first execution fails. Runs that are tried to make it simpler show a data race, which changes nothing about its
// schedule.
// expect: bug assertion 0
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int is_set;
static int number;
static void *set(void *unused) {
    number = 2;
    is_set = 1;
    return unused;
}
static void *look(void *unused) {
    if (is_set == 0)
        number = 1;
    else
        assert(0);
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, set, 0);
    pthread_create(&b, 0, look, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
