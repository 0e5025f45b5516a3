// flags: -D_GNU_SOURCE
// expect: verified

// What a thread asks about its stack is about its own.

#include <assert.h>
#include <pthread.h>

static void *run(void *unused) {
    int here;
    void *bottom;
    size_t size;
    pthread_attr_t attributes;
    assert(pthread_getattr_np(pthread_self(), &attributes) == 0);
    pthread_attr_getstack(&attributes, &bottom, &size);
    assert((char *)&here >= (char *)bottom && (char *)&here < (char *)bottom + size);
    pthread_attr_destroy(&attributes);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    run(NULL);
    pthread_join(thread, NULL);
    return 0;
}
