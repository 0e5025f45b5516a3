// A handler that is left by a jump shows what the thread has done so far: not all is explored, and that is said.
// expect: bounded
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
static sigjmp_buf back;
static int first, second;
static void handler(int signal) { siglongjmp(back, 1); }
static void *works(void *unused) {
    if (!sigsetjmp(back, 0)) {
        signal(SIGUSR1, handler);
        first = 1;
        second = 1;
        signal(SIGUSR1, SIG_IGN);
    }
    return unused;
}
int main(void) {
    pthread_t thread;
    signal(SIGUSR1, SIG_IGN);
    pthread_create(&thread, 0, works, 0);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, 0);
    assert(first == second);
}
