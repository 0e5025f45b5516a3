// Tickets are drawn by a step of a whole word, and who comes next is stored into its upper half: what that releases is
// acquired with the word.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static union {
    uint32_t both;
    struct {
        uint16_t next, owner;
    } half;
} lock;
static int count;

static void *increment(void *unused) {
    uint32_t old = __atomic_fetch_add(&lock.both, 1, __ATOMIC_ACQUIRE);
    uint16_t mine = old, now = old >> 16;
    while (now != mine) now = __atomic_load_n(&lock.half.owner, __ATOMIC_ACQUIRE);
    count++;
    __atomic_store_n(&lock.half.owner, now + 1, __ATOMIC_RELEASE);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, increment, 0);
    increment(0);
    pthread_join(thread, 0);
    assert(count == 2);
}
