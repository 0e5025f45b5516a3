// A copy into memory whose size the compiler knows is an access like any other.
// flags: -O2 -D_FORTIFY_SOURCE=2
// expect: bug data_race 0
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static char text[16];

static void *copies(void *from) {
    memcpy(text, from, strlen(from));
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, copies, "one");
    pthread_create(&b, NULL, copies, "other");
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}
