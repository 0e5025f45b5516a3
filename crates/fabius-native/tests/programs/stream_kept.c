// A thread ends with a stream locked: who uses it afterwards waits for ever.
// expect: bug deadlock 0
#include <pthread.h>
#include <stdio.h>

static FILE *stream;

static void *keeper(void *unused) {
    flockfile(stream);
    return unused;
}

int main(void) {
    char text[16] = {0};
    pthread_t thread;
    stream = fmemopen(text, sizeof text, "w");
    pthread_create(&thread, 0, keeper, 0);
    pthread_join(thread, 0);
    fputc('a', stream);
    fclose(stream);
}
