// Who draws first gets another number at random.
// expect: bug assertion 0
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static int drawn;

static void *draw(void *keep) {
    int number = rand();
    if (keep) drawn = number;
    return 0;
}

int main(void) {
    srand(7);
    int first = rand();
    srand(7);
    pthread_t a, b;
    pthread_create(&a, 0, draw, &drawn);
    pthread_create(&b, 0, draw, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(drawn == first);
}
