// A byte is released, and the one beside it acquired: that orders nothing.
// expect: bug data_race 1
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static uint8_t bytes[8];
static int data;

static void *publish(void *unused) {
    data = 1;
    __atomic_store_n(&bytes[5], 1, __ATOMIC_RELEASE);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, publish, 0);
    __atomic_load_n(&bytes[4], __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&bytes[5], __ATOMIC_RELAXED)) assert(data == 1);
    pthread_join(thread, 0);
}
