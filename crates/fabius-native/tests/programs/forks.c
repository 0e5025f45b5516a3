// A child is not explored, which is said.
// expect: bounded
#include <assert.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int status, child = fork();
    if (!child) _exit(3);
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
}
