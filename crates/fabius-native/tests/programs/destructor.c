// expect: bug assertion 0
#include <assert.h>
#include <stdlib.h>
static int stage;
__attribute__((destructor)) static void last(void) { assert(stage == 1); }
__attribute__((destructor(200))) static void very_last(void) { assert(stage == 2); }
static void second(void) { stage++; }
int main(void) {
    atexit(second);
}
