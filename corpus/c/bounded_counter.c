// Takes from a limited supply: look, then take. The repaired version does both with a compare-and-exchange.
// expect: bug assertion cost 1
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_int left = 1, granted;

static bool take(void) {
#ifdef FIXED
    int seen = left;
    while (seen > 0)
        if (atomic_compare_exchange_weak(&left, &seen, seen - 1))
            return true;
    return false;
#else
    if (left > 0) {
        left--;
        return true;
    }
    return false;
#endif
}

static void *customer(void *unused) {
    if (take())
        granted++;
    return NULL;
}

int main(void) {
    pthread_t all[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&all[i], NULL, customer, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(all[i], NULL);
    assert(granted == 1);
    return 0;
}
