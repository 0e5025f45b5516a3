// What is done at the end of the process is done before it ends: a thread may still use what is gone.
// expect: bug memory 1

#include <pthread.h>
#include <stdlib.h>

static int *value;

static void ends(void) {
    free(value);
}

static void *uses(void *unused) {
    *(volatile int *)value = 1;
    return unused;
}

int main(void) {
    pthread_t thread;
    value = malloc(sizeof *value);
    atexit(ends);
    pthread_create(&thread, NULL, uses, NULL);
    pthread_detach(thread);
    return 0;
}
