// All bytes of a text are written, and none behind its end or what there is room for.
// expect: bug data_race 0
#include <pthread.h>
#include <stdio.h>

static char line[32];
static void *behind(void *unused) {
    line[16] = line[17] = 'x';
    return unused;
}
static void *within(void *unused) {
    line[9] = 'x';
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, behind, NULL);
    snprintf(line, sizeof line, "%s is %.3f %d", "this", 1.5, 1234);
    snprintf(line, 16, "%s is %.3f %d", "that", 1.5, 123456);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, within, NULL);
    sprintf(line, "%s is %.3f", "this", 1.5);
    pthread_join(thread, NULL);
    return 0;
}
