// expect: bug memory 0
#include <pthread.h>
#include <stdlib.h>

static char *block;

static void *run(void *argument) {
    free(block);
    return argument;
}

int main(void) {
    pthread_t thread;
    block = malloc(0);
    pthread_create(&thread, 0, run, 0);
    free(block);
    pthread_join(thread, 0);
    return 0;
}
