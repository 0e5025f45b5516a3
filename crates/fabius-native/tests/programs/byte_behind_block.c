// A block is as long as was asked for, to the byte.
// expect: bug memory 0
#include <stdlib.h>
int main(void) {
    char *text = malloc(10);
    text[9] = 1;
    text[10] = 1;
    free(text);
}
