// What the kernel keeps is not restored with the memory: each execution gets a process of its own.
// forked: the mask of new files is not put back
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <sys/stat.h>
static void *look(void *unused) { return unused; }
int main(void) {
    pthread_t thread;
    mode_t before = umask(077);
    pthread_create(&thread, 0, look, 0);
    assert(before != 077);
    pthread_join(thread, 0);
}
