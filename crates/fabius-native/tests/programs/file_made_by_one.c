// A file that only one may make: the second thread may be the one.
// expect: bug assertion 0
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "fabius-XXXXXX", name[64];
static int made[2];

static void *makes(void *mine) {
    *(int *)mine = open(name, O_CREAT | O_EXCL | O_RDWR, 0600) >= 0;
    return NULL;
}

int main(void) {
    pthread_t a, b;
    mkdtemp(folder);
    snprintf(name, sizeof name, "%s/lock", folder);
    pthread_create(&a, NULL, makes, &made[0]);
    pthread_create(&b, NULL, makes, &made[1]);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    unlink(name);
    rmdir(folder);
    assert(made[0]);
}
