// Reads into memory whose size the compiler knows, as libraries that were built with checks call them.
// expect: bug assertion 1
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

long __pread_chk(int file, void *buffer, size_t size, long place, size_t room);

static int file;

static void *adds(void *none) {
    char number;
    __pread_chk(file, &number, 1, 0, 1);
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
