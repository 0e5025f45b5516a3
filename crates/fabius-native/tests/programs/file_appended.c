// Two threads write to one file in two steps each, by its own offset: the other one may come in between.
// expect: bug assertion 1
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int file;

static void *writes(void *letter) {
    write(file, letter, 1);
    write(file, letter, 1);
    return NULL;
}

int main(void) {
    char name[] = "fabius-XXXXXX", text[5] = {0};
    pthread_t a, b;
    file = mkstemp(name);
    unlink(name);
    pthread_create(&a, NULL, writes, "a");
    pthread_create(&b, NULL, writes, "b");
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pread(file, text, 4, 0);
    assert(strcmp(text, "abba") != 0);
}
