// A semaphore of System V that lets two in is no lock.
// expect: bug assertion 1
#include <assert.h>
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/sem.h>
static int set, count;
static void *adds(void *unused) {
    semop(set, &(struct sembuf){0, -1, 0}, 1);
    int seen = count;
    count = seen + 1;
    semop(set, &(struct sembuf){0, 1, 0}, 1);
    return unused;
}
int main(void) {
    pthread_t thread;
    set = semget(IPC_PRIVATE, 1, 0600);
    semctl(set, 0, SETVAL, 2);
    pthread_create(&thread, NULL, adds, NULL);
    adds(NULL);
    pthread_join(thread, NULL);
    assert(count == 2);
}
