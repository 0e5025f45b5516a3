// What the C library keeps for itself changes between two looks, and nobody is told of it: the loop ends, so it is no livelock.
// expect: verified
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static atomic_int ready;

int main(void) {
    char *arguments[] = {"program", "-a", "-a", "-b", NULL};
    while (!ready) {
        if (getopt(4, arguments, "ab") == -1) break;
    }
}
