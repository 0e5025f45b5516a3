// Figure 10 of Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1): two buffers that count in turns, so that the
// bug needs N rounds over them. `corpus/buffers/bug/fig10.fab` is the same as a model.
// expect: bug assertion cost 0
// expect N=2: bug assertion cost 2
#include <assert.h>
#include "fabius.h"

#ifndef N
#define N 1
#endif

enum { HIGH = 1 };

static _Atomic int x;

static void bar(void *unused) {
    int t = x;
    fabius_zield();
    x = t + 1;
}

static void even(void *unused) {
    int i = 0;
    while (fabius_any_int(0, 1)) {
        fabius_yield();
        fabius_zield();
        fabius_assume(x == 2 * i);
        fabius_yield();
        fabius_zield();
        fabius_post_at(HIGH, bar, 0);
        fabius_yield();
        fabius_zield();
        i = i + 1;
    }
}

static void odd(void *unused) {
    int j = 0;
    while (fabius_any_int(0, 1)) {
        fabius_yield();
        fabius_zield();
        fabius_assume(x == 2 * j + 1);
        fabius_yield();
        fabius_zield();
        fabius_post_at(HIGH, bar, 0);
        fabius_yield();
        fabius_zield();
        j = j + 1;
        assert(x != 2 * N);
    }
}

int main(void) {
    fabius_buffer(even, 0);
    fabius_buffer(odd, 0);
    return 0;
}
