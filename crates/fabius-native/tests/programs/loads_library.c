// A library that is loaded while the program runs stays in the linker's lists: each execution gets a process of its own.
// forked: the linker keeps the library
// expect: bug assertion 1
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
static atomic_int loaded;
static void *load(void *unused) {
    loaded = dlopen("libm.so.6", RTLD_NOW) != NULL;
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, load, 0);
    assert(loaded == 0);
    pthread_join(thread, 0);
    assert(loaded == 1);
}
