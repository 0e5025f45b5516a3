// Nobody is left to read, and the program does nothing about that signal.
// forked: the process ends
// expect: bug crash 0
#include <unistd.h>

int main(void) {
    int ends[2];
    pipe(ends);
    close(ends[0]);
    write(ends[1], "x", 1);
}
