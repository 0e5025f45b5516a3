// All bytes of blocks of all sizes may be used.
// expect: verified
#include <assert.h>
#include <stdlib.h>
#include <string.h>
struct odd { char bytes[13]; };
int main(void) {
    for (int size = 1; size < 50; size++) {
        char *block = malloc(size);
        memset(block, 1, size);
        for (int at = 0; at < size; at++) block[at]++;
        block = realloc(block, size + 5);
        memset(block + size, 2, 5);
        assert(block[size - 1] == 2 && block[size + 4] == 2);
        free(block);
    }
    free(malloc(0));
    char *aligned = aligned_alloc(64, 128);
    aligned[127] = 1;
    struct odd *odd = calloc(3, sizeof *odd);
    odd[2] = odd[0];
}
