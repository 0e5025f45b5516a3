// Who has read from a pipe or an event comes after who wrote to it: no data race.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>
static int ends[2], event, first, second;
static void *take(void *unused) {
    char c;
    long number;
    assert(read(ends[0], &c, 1) == 1 && first == 1);
    assert(read(event, &number, 8) == 8 && number == 3 && second == 2);
    return unused;
}
int main(void) {
    pthread_t thread;
    long number = 3;
    assert(pipe(ends) == 0);
    event = eventfd(0, 0);
    pthread_create(&thread, 0, take, 0);
    first = 1;
    assert(write(ends[1], "x", 1) == 1);
    second = 2;
    assert(write(event, &number, 8) == 8);
    pthread_join(thread, 0);
}
