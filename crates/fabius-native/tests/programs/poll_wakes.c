// Who polls several pipes goes on as soon as one of them has something, and finds which; a time that is over finds none.
// expect: verified
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
static int first[2], second[2], data;
static void *send_one(void *unused) {
    data = 7;
    assert(write(second[1], "x", 1) == 1);
    return unused;
}
int main(void) {
    pthread_t thread;
    char c;
    assert(pipe(first) == 0 && pipe(second) == 0);
    struct pollfd files[2] = {{.fd = first[0], .events = POLLIN}, {.fd = second[0], .events = POLLIN}};
    assert(poll(files, 2, 0) == 0);
    pthread_create(&thread, 0, send_one, 0);
    int ready = poll(files, 2, 50);
    assert(ready == 0 || ready == 1);
    if (ready == 0) assert(poll(files, 2, -1) == 1);
    assert(!files[0].revents && files[1].revents == POLLIN && data == 7);
    assert(read(second[0], &c, 1) == 1);
    pthread_join(thread, 0);
}
