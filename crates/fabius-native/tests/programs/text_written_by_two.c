// Two write text to one place; who asks for a length alone writes nowhere.
// expect: bug data_race 0
#include <pthread.h>
#include <stdio.h>

static char line[16];
static void *other(void *unused) {
    snprintf(line, sizeof line, "%s %d", "other", 1);
    return unused;
}

int main(void) {
    pthread_t thread;
    char mine[16];
    int length = snprintf(NULL, 0, "%d %d", 12, 3);
    pthread_create(&thread, NULL, other, NULL);
    snprintf(mine, sizeof mine, "%d of %d", length, length);
    sprintf(line, "%s %d", mine, 2);
    pthread_join(thread, NULL);
    return line[0] == 0;
}
