// expect: bug memory 0
#include <stdlib.h>
int main(void) {
    int *block = malloc(4);
    free(block);
    free(block);
}
