// A stream is kept over several calls by one thread, and a single call of another one waits for it.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static FILE *stream;

static void *two(void *unused) {
    flockfile(stream);
    fputs("1", stream);
    fputs("2", stream);
    funlockfile(stream);
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
    assert(!strcmp(text, "123") || !strcmp(text, "312"));
}
