// What the kernel answers at once does not wait: nothing is read, the wrong end of a pipe, too many parts.
// expect: verified
#include <assert.h>
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

int main(void) {
    int ends[2];
    char byte;
    struct iovec part = {&byte, 1}, none = {&byte, 0};
    pipe(ends);
    assert(read(ends[0], &byte, 0) == 0);
    assert(readv(ends[0], &none, 1) == 0);
    assert(readv(ends[0], &part, -1) == -1 && errno == EINVAL);
    assert(write(ends[0], "x", 1) == -1 && errno == EBADF);
    assert(read(ends[1], &byte, 1) == -1 && errno == EBADF);
}
