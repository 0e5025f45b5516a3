// What `printf` reads of its arguments is an access, whatever stands before it.
// expect: bug memory 0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *text = malloc(8);
    strcpy(text, "text");
    printf("%*d %s %.2f\n", 5, 3, text, 1.5);
    free(text);
    printf("%*d %.2f %Lf %s\n", 5, 3, 1.5, 2.5L, text);
    return 0;
}
