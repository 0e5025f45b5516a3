// Semaphores of System V: all operations at once or none, to wait until one is zero, and what a removed set says to those who wait.
// expect: verified
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <unistd.h>
union semun {
    int val;
    struct semid_ds *buf;
    unsigned short *array;
};
static int set, count, sum;
static void *adds(void *unused) {
    struct sembuf take[2] = {{0, -1, SEM_UNDO}, {1, -1, 0}}, give = {0, 1, SEM_UNDO};
    assert(semop(set, take, 2) == 0);
    count++;
    assert(semop(set, &give, 1) == 0);
    return unused;
}
static void *is_left(void *unused) {
    struct sembuf never = {1, -5, 0};
    assert(semop(set, &never, 1) == -1 && (errno == EIDRM || errno == EINVAL));
    return unused;
}
int main(void) {
    pthread_t threads[2];
    struct semid_ds about;
    unsigned short values[2] = {1, 2};
    union semun all = {.array = values}, one = {.val = 40000}, whole = {.buf = &about};
    struct sembuf zero = {1, 0, 0}, now = {1, -1, IPC_NOWAIT}, far = {2, 1, 0};
    assert(semget(77, 2, 0600) == -1 && errno == ENOENT);
    set = semget(77, 2, 0600 | IPC_CREAT | IPC_EXCL);
    assert(set >= 0 && semget(77, 0, 0) == set);
    assert(semget(77, 3, 0) == -1 && errno == EINVAL);
    assert(semget(77, 2, 0600 | IPC_CREAT | IPC_EXCL) == -1 && errno == EEXIST);
    assert(semctl(set, 0, SETVAL, one) == -1 && errno == ERANGE);
    assert(semctl(set, 0, SETALL, all) == 0 && semctl(set, 1, GETVAL) == 2);
    assert(semop(set, &far, 1) == -1 && errno == EFBIG);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, adds, NULL);
    assert(semop(set, &zero, 1) == 0);
    assert(semop(set, &now, 1) == -1 && errno == EAGAIN);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert(count == 2);
    assert(semctl(set, 0, GETALL, all) == 0 && values[0] == 1 && values[1] == 0);
    assert(semctl(set, 0, IPC_STAT, whole) == 0 && about.sem_nsems == 2 && about.sem_otime > 0);
    assert(semctl(set, 0, GETPID) == getpid());
    pthread_create(&threads[0], NULL, is_left, NULL);
    assert(semctl(set, 0, IPC_RMID) == 0);
    pthread_join(threads[0], NULL);
    assert(semget(77, 2, 0600) == -1 && errno == ENOENT);
}
