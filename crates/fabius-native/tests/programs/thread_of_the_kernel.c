// A process or thread that the kernel is asked for is refused by name.
// expect: unknown not supported: syscall(SYS_clone
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    if (syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L) == 0) {
        _exit(3);
    }
    return 0;
}
