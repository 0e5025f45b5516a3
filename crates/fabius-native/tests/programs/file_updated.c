// Two threads read a number from a file, and write it back with one more: an update may be lost.
// expect: bug assertion 1
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int file;

static void *adds(void *none) {
    char number;
    pread(file, &number, 1, 0);
    number++;
    pwrite(file, &number, 1, 0);
    return none;
}

int main(void) {
    char name[] = "fabius-XXXXXX", number = '0';
    pthread_t threads[2];
    file = mkstemp(name);
    unlink(name);
    write(file, &number, 1);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, adds, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    pread(file, &number, 1, 0);
    assert(number == '2');
}
