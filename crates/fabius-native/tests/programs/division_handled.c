// A fault that the program handles on the stack of the thread, where nobody has written before.
// expect: verified

#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

static __thread sigjmp_buf out;
static volatile int zero;

static void handle(int signal) {
    char deep[50000];
    for (int i = 0; i < 50000; i += 1000) deep[i] = (char)signal;
    siglongjmp(out, deep[3000]);
}

static void *run(void *unused) {
    if (sigsetjmp(out, 1) == 0) return (void *)(long)(1 / zero);
    return unused;
}

int main(void) {
    pthread_t thread;
    signal(SIGFPE, handle);
    pthread_create(&thread, NULL, run, NULL);
    run(NULL);
    pthread_join(thread, NULL);
    return 0;
}
