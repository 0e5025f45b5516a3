// What reads the process's state from the kernel differs from run to run, and is no proof.
// expect: unknown the program behaves differently
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
    unsigned char bytes[8];
    int file = open("/dev/urandom", O_RDONLY);
    if (read(file, bytes, sizeof bytes) != sizeof bytes) return 1;
    int *volatile block = malloc(1024 * sizeof(int));
    for (int i = 0; i < 8; i++) block[bytes[i]] = 1;
    free(block);
}
