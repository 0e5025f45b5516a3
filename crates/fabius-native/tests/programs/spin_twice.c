// Two threads that wait for each other in turns, without locks.
// expect: verified
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
static atomic_int turn;
static int shared;
static void *second(void *unused) {
    while (turn != 1) sched_yield();
    shared++;
    turn = 2;
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, second, 0);
    shared++;
    turn = 1;
    while (turn != 2) {}
    assert(shared == 2);
    pthread_join(thread, 0);
}
