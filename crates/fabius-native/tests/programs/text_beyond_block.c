// A text that is too long for its block.
// expect: bug memory 0
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    char *text = malloc(4);
    sprintf(text, "%d", 123);
    sprintf(text, "%d", 1234);
    return 0;
}
