// Two threads open one file by streams of their own, read a number and write it back with one more: an update may be lost.
// expect: bug assertion 1
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char name[] = "fabius-XXXXXX";

static void put(int number) {
    FILE *file = fopen(name, "w");
    fprintf(file, "%d\n", number);
    fclose(file);
}

static int get(void) {
    int number = 0;
    FILE *file = fopen(name, "r");
    fscanf(file, "%d", &number);
    fclose(file);
    return number;
}

static void *adds(void *none) {
    put(get() + 1);
    return none;
}

int main(void) {
    pthread_t threads[2];
    mkstemp(name);
    put(0);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, adds, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    int number = get();
    unlink(name);
    assert(number == 2);
}
