// A loop that the C library ends by what it keeps to itself, of which nobody is told: it may end before the flag is set.
// expect: bug assertion 1
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static atomic_int ready;
static char *arguments[] = {"program", "-a", "-a", "-b", NULL};

static void *waits(void *argument) {
    while (!ready) {
        if (getopt(4, arguments, "ab") == -1) break;
    }
    assert(ready);
    return argument;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, waits, NULL);
    ready = 1;
    pthread_join(t, NULL);
}
