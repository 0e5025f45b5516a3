// The only child has ended without a word, and this process could still write: nobody ever will.
// expect: bug deadlock 0
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int ends[2];
    char said;
    pipe(ends);
    if (!fork()) _exit(0);
    read(ends[0], &said, 1);
}
