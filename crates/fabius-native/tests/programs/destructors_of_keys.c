// Destructors of values are called by the order of keys, see the values that are left, and may set others.
// expect: verified
#include <assert.h>
#include <pthread.h>
static pthread_key_t first, second, third;
static int calls;
static void destroy_first(void *value) {
    assert(value == &first && pthread_getspecific(first) == 0 && pthread_getspecific(second) == &second);
    assert(calls++ == 0);
    pthread_setspecific(third, &third);
}
static void destroy_second(void *value) {
    assert(value == &second && pthread_getspecific(third) == &third);
    assert(calls++ == 1);
}
static void destroy_third(void *value) {
    assert(value == &third && pthread_getspecific(second) == 0);
    assert(calls++ == 2);
}
static void *use(void *unused) {
    pthread_setspecific(second, &second);
    pthread_setspecific(first, &first);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_key_create(&first, destroy_first);
    pthread_key_create(&second, destroy_second);
    pthread_key_create(&third, destroy_third);
    pthread_create(&thread, 0, use, 0);
    pthread_join(thread, 0);
    assert(calls == 3);
}
