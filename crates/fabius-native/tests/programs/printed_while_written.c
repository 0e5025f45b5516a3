// What is put into a stream is read, no more of it than its precision says, and under the lock of the stream.
// expect: bug data_race 0
#include <pthread.h>
#include <stdio.h>

static char line[16] = "one two";
static void *other(void *unused) {
    line[4] = 'T';
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    printf("%.4s\n", line);
    fputs(line, stderr);
    pthread_join(thread, NULL);
    return 0;
}
