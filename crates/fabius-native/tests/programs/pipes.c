// Who reads from a pipe waits for who writes.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <unistd.h>
static int ends[2];
static void *take(void *unused) {
    char c;
    assert(read(ends[0], &c, 1) == 1 && c == 'x');
    return unused;
}
int main(void) {
    pthread_t thread;
    assert(pipe(ends) == 0);
    pthread_create(&thread, 0, take, 0);
    assert(write(ends[1], "x", 1) == 1);
    pthread_join(thread, 0);
}
