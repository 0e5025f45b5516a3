// What a signal does that a thread sends itself depends on what others have said about it before.
// expect: bug assertion 1
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
static sem_t begun;
static volatile sig_atomic_t handled;
static void handle(int signal) { handled = signal; }
static void *raises(void *unused) {
    sem_post(&begun);
    raise(SIGUSR1);
    return unused;
}
int main(void) {
    pthread_t thread;
    sem_init(&begun, 0, 0);
    signal(SIGUSR1, SIG_IGN);
    pthread_create(&thread, 0, raises, 0);
    sem_wait(&begun);
    signal(SIGUSR1, handle);
    pthread_join(thread, 0);
    assert(!handled);
}
