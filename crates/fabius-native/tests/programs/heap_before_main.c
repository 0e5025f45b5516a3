// expect: verified
#include <assert.h>
#include <stdlib.h>
static int *early;
__attribute__((constructor)) static void make(void) {
    early = malloc(4);
    *early = 1;
}
int main(void) {
    assert(*early == 1);
    *early = 2;
    free(early);
}
