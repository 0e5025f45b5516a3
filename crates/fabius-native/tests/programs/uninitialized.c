// What an earlier execution left on a stack is not seen by the next one.
// expect: verified
#include <pthread.h>
#include <stdatomic.h>
static atomic_int cells[256];
__attribute__((noinline)) static int left_over(void) {
    volatile unsigned char room[64];
    return room[17];
}
__attribute__((noinline)) static void dirty(int n) {
    volatile unsigned char room[200];
    for (int i = 0; i < 200; i++) room[i] = (unsigned char)n;
}
static void *run(void *unused) {
    cells[left_over()]++;
    dirty(cells[3] + 7);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    run(0);
    pthread_join(thread, 0);
}
