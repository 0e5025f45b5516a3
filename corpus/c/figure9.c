// Figure 9 of Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1): a task posts others at a higher level and
// itself; the counter reaches N. `corpus/tasks/bug/fig9.fab` is the same as a model.
// expect: bug assertion cost 0
// expect N=4: bug assertion cost 0
// expect N=16: bug assertion cost 0
#include <assert.h>
#include "fabius.h"

#ifndef N
#define N 1
#endif

enum { HIGH = 1 };

static int x;
static _Bool go_on;

static void bar(void *unused) {
    int t = x;
    fabius_yield();
    x = t + 1;
    fabius_yield();
    assert(x != N);
    fabius_yield();
    if (fabius_any_int(0, 1))
        go_on = 1;
}

static void foo(void *unused) {
    if (go_on && fabius_any_int(0, 1)) {
        go_on = 0;
        fabius_yield();
        fabius_post_at(HIGH, bar, 0);
        fabius_yield();
        fabius_post(foo, 0);
    }
}

int main(void) {
    x = 0;
    fabius_yield();
    go_on = 1;
    fabius_yield();
    fabius_post(foo, 0);
    return 0;
}
