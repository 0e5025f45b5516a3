// A word is released, and a byte of it acquired.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static union {
    uint64_t word;
    uint8_t bytes[8];
} flags;
static int data;

static void *publish(void *unused) {
    data = 1;
    __atomic_store_n(&flags.word, 1ULL << 24, __ATOMIC_RELEASE);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, publish, 0);
    if (__atomic_load_n(&flags.bytes[3], __ATOMIC_ACQUIRE)) assert(data == 1);
    pthread_join(thread, 0);
}
