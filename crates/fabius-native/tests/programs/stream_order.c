// Two threads write to a stream of the program: what comes first there is a matter of the schedule.
// expect: bug assertion 1
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static FILE *stream;

static void *two(void *unused) {
    fprintf(stream, "%.1f", 1.5);
    fputs("2", stream);
    return unused;
}

static void *one(void *unused) {
    fputc('3', stream);
    return unused;
}

int main(void) {
    char text[16] = {0};
    pthread_t a, b;
    stream = fmemopen(text, sizeof text, "w");
    pthread_create(&a, 0, two, 0);
    pthread_create(&b, 0, one, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    fclose(stream);
    assert(strcmp(text, "1.532"));
}
