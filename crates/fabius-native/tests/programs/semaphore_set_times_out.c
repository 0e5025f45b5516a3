// flags: -D_GNU_SOURCE
// An operation on semaphores of System V with a limit may not be done in time although somebody will make it possible.
// expect: bug assertion 0
#include <assert.h>
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <time.h>
static int set;
static void *gives(void *unused) {
    semop(set, &(struct sembuf){0, 1, 0}, 1);
    return unused;
}
int main(void) {
    pthread_t thread;
    struct timespec second = {.tv_sec = 1};
    set = semget(IPC_PRIVATE, 1, 0600);
    pthread_create(&thread, NULL, gives, NULL);
    assert(semtimedop(set, &(struct sembuf){0, -1, 0}, 1, &second) == 0);
    pthread_join(thread, NULL);
}
