// expect: bug assertion 0
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static int stage;
static void check(void) { assert(stage == 2); }
int main(void) {
    atexit(check);
    stage = 1;
    pthread_exit(0);
}
