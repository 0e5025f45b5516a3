// Threads hand back what they have found; the wrong version reads one result before its thread has ended.
// expect: bug data_race cost 0
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>

struct part {
    int from, to, sum;
};

static void *add(void *arg) {
    struct part *p = arg;
    for (int i = p->from; i < p->to; i++)
        p->sum += i;
    return p;
}

int main(void) {
    struct part parts[2] = { { 0, 3, 0 }, { 3, 5, 0 } };
    pthread_t threads[2];
    void *found;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, add, &parts[i]);
    pthread_join(threads[0], &found);
    int sum = ((struct part *)found)->sum;
#ifdef FIXED
    pthread_join(threads[1], &found);
    sum += ((struct part *)found)->sum;
#else
    sum += parts[1].sum;
    pthread_join(threads[1], &found);
#endif
    assert(sum == 10);
    return 0;
}
