// select says which of its files are ready, and waits for ever where nobody writes.
// expect: bug deadlock 0
#include <assert.h>
#include <pthread.h>
#include <sys/select.h>
#include <unistd.h>
static int ends[2];
static void *send_one(void *unused) {
    assert(write(ends[1], "x", 1) == 1);
    return unused;
}
int main(void) {
    pthread_t thread;
    char c;
    fd_set files;
    assert(pipe(ends) == 0);
    pthread_create(&thread, 0, send_one, 0);
    for (int i = 0; i < 2; i++) {
        FD_ZERO(&files);
        FD_SET(ends[0], &files);
        assert(select(ends[0] + 1, &files, 0, 0, 0) == 1 && FD_ISSET(ends[0], &files));
        assert(read(ends[0], &c, 1) == 1);
    }
    pthread_join(thread, 0);
}
