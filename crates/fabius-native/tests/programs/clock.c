// A loop that ends when virtual time has passed repeats nothing.
// expect: verified
#include <assert.h>
#include <time.h>
#include <unistd.h>
int main(void) {
    time_t end = time(0) + 2;
    while (time(0) < end) usleep(100000);
    assert(time(0) == end);
}
