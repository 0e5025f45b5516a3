// What localtime returns is overwritten by the next call, whichever thread makes it.
// expect: bug data_race 0
#include <assert.h>
#include <pthread.h>
#include <time.h>
static void *year(void *argument) {
    time_t time = *(time_t *)argument;
    return (void *)(long)gmtime(&time)->tm_year;
}
int main(void) {
    pthread_t one, two;
    static time_t times[2] = {0, 100000000};
    pthread_create(&one, 0, year, &times[0]);
    pthread_create(&two, 0, year, &times[1]);
    pthread_join(one, 0);
    pthread_join(two, 0);
}
