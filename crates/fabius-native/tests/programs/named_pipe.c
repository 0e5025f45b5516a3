// Who opens a named pipe waits in the kernel: that is refused.
// expect: unknown not supported: open of a named pipe
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    char name[64];
    snprintf(name, sizeof name, "/tmp/fabius-pipe-%d", (int)getuid());
    mkfifo(name, 0600);
    open(name, O_RDONLY);
}
