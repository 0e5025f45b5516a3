// A worker writes its result to a variable of the function that started it, which does not wait for it.
// expect: bug data_race cost 0
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>

struct job {
    int input, output;
};

static void *work(void *argument) {
    struct job *job = argument;
    job->output = job->input * 2;
    return job;
}

static int twice(int n) {
    static struct job job;
    pthread_t thread;
    job.input = n;
    pthread_create(&thread, NULL, work, &job);
#ifdef FIXED
    void *result;
    pthread_join(thread, &result);
    assert(result == &job);
#endif
    int output = job.output;
#ifndef FIXED
    pthread_join(thread, NULL);
#endif
    return output;
}

int main(void) {
    assert(twice(3) == 6);
    return 0;
}
