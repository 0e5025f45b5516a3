// Who asks twice whether there is a file sees that another thread has renamed it in between.
// expect: bug assertion 1
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "fabius-XXXXXX";
static int at;

static void *renames(void *none) {
    renameat(at, "one", at, "two");
    return none;
}

static int is_there(void) {
    struct stat about;
    return fstatat(at, "two", &about, 0) == 0;
}

int main(void) {
    pthread_t thread;
    mkdtemp(folder);
    at = open(folder, O_RDONLY | O_DIRECTORY);
    close(openat(at, "one", O_CREAT | O_WRONLY, 0600));
    pthread_create(&thread, NULL, renames, NULL);
    int first = is_there(), second = is_there();
    pthread_join(thread, NULL);
    unlinkat(at, "two", 0);
    rmdir(folder);
    assert(first == second);
}
