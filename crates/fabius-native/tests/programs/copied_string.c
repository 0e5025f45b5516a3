// What the C library writes for the program is seen.
// expect: bug data_race 0
#include <pthread.h>
#include <string.h>
static char name[24] = "before the change";
static void *change(void *unused) {
    strcpy(name, "behind the change");
    return unused;
}
int main(void) {
    char copy[24];
    pthread_t thread;
    pthread_create(&thread, 0, change, 0);
    strcpy(copy, name);
    pthread_join(thread, 0);
    return copy[0] == 'x';
}
