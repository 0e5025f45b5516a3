// What a function writes that was not instrumented is not seen, and the answer says so.
// expect: bounded
#include <pthread.h>
static int count;
__attribute__((no_sanitize_thread)) static void hidden(void) { count++; }
static void *add(void *unused) {
    hidden();
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, add, 0);
    hidden();
    pthread_join(thread, 0);
}
