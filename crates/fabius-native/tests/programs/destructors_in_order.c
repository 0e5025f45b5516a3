// expect: verified
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static int stage;
static void *run(void *unused) {
    return unused;
}
__attribute__((destructor)) static void last(void) { assert(stage == 1); stage = 2; }
__attribute__((destructor(200))) static void very_last(void) { assert(stage == 2); }
static void first(void) { assert(stage == 0); stage = 1; }
__attribute__((constructor)) static void begin(void) { atexit(first); }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
}
