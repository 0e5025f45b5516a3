// expect: verified

// What only some executions write of the C library's memory and of a stack is put back behind these.

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int turn;

static void *seeds(void *unused) {
    srand(5);
    atomic_store(&turn, 1);
    return unused;
}

static void *fills(void *unused) {
    char deep[100000];
    memset(deep, 7, sizeof deep);
    return unused;
}

// The kernel writes where nobody has written yet.
static void *reads(void *unused) {
    char deep[100000];
    for (int i = 0; i < 60000; i += 1000) assert(((volatile char *)deep)[i] == 0);
    assert(getcwd(deep + 1, 50000) == deep + 1 && deep[1] == '/');
    return unused;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, seeds, NULL);
    pthread_create(&other, NULL, atomic_load(&turn) ? fills : reads, NULL);
    int number = rand();
    assert(number == 1804289383 || number == 590011675);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
