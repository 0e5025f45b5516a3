// A thread waits while there is memory that nobody may read; looking whether it repeats itself leaves that out.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
static atomic_int count;
static void *add(void *unused) {
    count++;
    return unused;
}
int main(void) {
    pthread_t thread;
    char *block, *gone = mmap(0, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    gone[8192] = 1;
    assert(munmap(gone + 4096, 4096) == 0);
    posix_memalign((void **)&block, 4096, 8192);
    block[0] = 1;
    mprotect(block, 4096, PROT_NONE);
    pthread_create(&thread, 0, add, 0);
    while (count < 1)
        sched_yield();
    pthread_join(thread, 0);
    mprotect(block, 4096, PROT_READ | PROT_WRITE);
    assert(block[0] == 1);
    free(block);
}
