// Two semaphores of a set that are taken one after the other, in two orders.
// expect: bug deadlock 1
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/sem.h>
static int set;
static void *takes(void *number) {
    unsigned short first = (long)number;
    for (int i = 0; i < 2; i++) semop(set, &(struct sembuf){i ? !first : first, -1, 0}, 1);
    for (int i = 0; i < 2; i++) semop(set, &(struct sembuf){i, 1, 0}, 1);
    return NULL;
}
int main(void) {
    pthread_t thread;
    set = semget(IPC_PRIVATE, 2, 0600);
    for (int i = 0; i < 2; i++) semctl(set, i, SETVAL, 1);
    pthread_create(&thread, NULL, takes, (void *)1);
    takes((void *)0);
    pthread_join(thread, NULL);
}
