// The C library's own state is restored, too, and files are closed.
// expect: verified
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char text[] = "one two";
static void *print(void *argument) {
    char *made;
    asprintf(&made, "%s%ld", "number ", (long)argument);
    flockfile(stdout);
    printf("%s\n", made);
    funlockfile(stdout);
    assert(made[7] == '0' + (long)argument);
    free(made);
    return 0;
}
int main(void) {
    pthread_t threads[2];
    assert(strcmp(strtok(text, " "), "one") == 0 && strtok(0, " "));
    FILE *left_open = fopen("/dev/null", "w");
    assert(left_open && fileno(left_open) < 20);
    fprintf(left_open, "never written");
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, print, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
}
