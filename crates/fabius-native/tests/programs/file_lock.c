// A lock of a file, as threads that opened it by themselves see it.
// expect: verified
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>
static int inside;
static char name[32];
static void *takes(void *unused) {
    int file = open(name, O_RDONLY);
    assert(file >= 0 && flock(file, LOCK_EX) == 0);
    assert(inside++ == 0);
    inside--;
    assert(flock(file, LOCK_UN) == 0);
    return unused;
}
int main(void) {
    pthread_t one, two;
    sprintf(name, "/proc/self/fd/%d", memfd_create("locked", 0));
    pthread_create(&one, 0, takes, 0);
    pthread_create(&two, 0, takes, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
}
