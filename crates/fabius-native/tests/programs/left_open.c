// expect: verified

// What an execution leaves open is closed behind it, also where another one was closed that was opened before.

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static void *run(void *unused) {
    int first = open("/dev/null", O_RDONLY);
    int second = open("/dev/null", O_RDONLY);
    assert(first >= 0 && second >= 0);
    close(first);
    return unused;
}

int main(void) {
    pthread_t thread[2];
    int before = dup(0);
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    int after = dup(0);
    // Each thread leaves one open, below or above it; what an earlier execution left would be in the way of all.
    assert(after - before >= 1 && after - before <= 3);
    return 0;
}
