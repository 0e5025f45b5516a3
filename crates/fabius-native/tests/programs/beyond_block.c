// expect: bug memory 0
#include <stdlib.h>
int main(void) {
    int *block = malloc(16);
    block[4] = 1;
    free(block);
}
