// `strtok` keeps one rest for all threads.
// expect: bug assertion 1
#include <assert.h>
#include <pthread.h>
#include <string.h>

static char words[] = "a b", others[] = "c d";
static const char *found;

static void *take_apart(void *text) {
    strtok(text, " ");
    const char *second = strtok(0, " ");
    if (text == words) found = second;
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, take_apart, words);
    pthread_create(&b, 0, take_apart, others);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(found && *found == 'b');
}
