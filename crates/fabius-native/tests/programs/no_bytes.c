// expect: bug memory 0
// A block of no bytes can be freed and made larger, and has no first byte.
#include <stdlib.h>

int main(void) {
    char *a = malloc(0), *b = calloc(0, 4), *c = realloc(malloc(0), 3);
    c[2] = 1;
    free(c);
    free(b);
    a[0] = 1;
    free(a);
    return 0;
}
