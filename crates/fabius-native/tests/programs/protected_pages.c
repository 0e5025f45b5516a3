// Pages that the program protects at the end can be written again in the next execution.
// expect: verified
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
static char page[8192] __attribute__((aligned(4096)));
static atomic_int count;
static void *add(void *unused) {
    count++;
    return unused;
}
int main(void) {
    pthread_t thread;
    char *block;
    page[5] = 1;
    posix_memalign((void **)&block, 4096, 8192);
    block[0] = 1;
    pthread_create(&thread, 0, add, 0);
    count++;
    pthread_join(thread, 0);
    mprotect(page, 4096, PROT_READ);
    mprotect(block, 4096, PROT_NONE);
}
