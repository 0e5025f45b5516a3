// The descriptors by which the explorer speaks are not the program's.
// expect: unknown not supported: dup2 onto descriptors
#include <unistd.h>

int main(void) {
    dup2(1, 60);
}
