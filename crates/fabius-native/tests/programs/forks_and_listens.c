// A child is not explored, but what it says is waited for: no deadlock.
// expect: bounded
#include <assert.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int ends[2], status;
    char said;
    pipe(ends);
    if (!fork()) {
        usleep(20000);
        write(ends[1], "x", 1);
        _exit(3);
    }
    assert(read(ends[0], &said, 1) == 1 && said == 'x');
    assert(wait(&status) > 0 && WEXITSTATUS(status) == 3);
    assert(wait(&status) == -1);
}
