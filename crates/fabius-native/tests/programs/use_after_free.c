// expect: bug memory 2
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static _Atomic(int *) shared;
static void *use(void *unused) {
    int *mine = shared;
    if (mine && *mine == 3) shared = mine;
    return unused;
}
int main(void) {
    pthread_t thread;
    int *block = malloc(sizeof *block);
    *block = 1;
    shared = block;
    pthread_create(&thread, 0, use, 0);
    shared = 0;
    free(block);
    pthread_join(thread, 0);
}
