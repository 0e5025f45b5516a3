// A table that is made when it is used first: by a flag that is set too early, or by `pthread_once`.
// expect: bug data_race cost 0
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static int table[3];
#ifdef FIXED
static pthread_once_t once = PTHREAD_ONCE_INIT;
#else
static atomic_int made;
#endif

static void make(void) {
    for (int i = 0; i < 3; i++)
        table[i] = i * i;
}

static int look_up(int i) {
#ifdef FIXED
    pthread_once(&once, make);
#else
    if (!atomic_exchange(&made, 1))
        make();
#endif
    return table[i];
}

static void *run(void *unused) {
    (void)unused;
    assert(look_up(2) == 4);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, run, NULL);
    pthread_create(&b, NULL, run, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
