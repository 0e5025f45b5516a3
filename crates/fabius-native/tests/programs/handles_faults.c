// flags: -D_GNU_SOURCE
// expect: verified

// Faults that the program handles itself, on a stack of its own, beside much use of the stack and of the C library.

#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static char room[1 << 15];
static __thread sigjmp_buf out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile char *page;

static void handle(int signal, siginfo_t *info, void *context) {
    assert(info->si_addr == page);
    siglongjmp(out, 1);
}

static void *run(void *seed) {
    pthread_mutex_lock(&lock);
    if (sigsetjmp(out, 1) == 0) {
        *page = 1;
        assert(0);
    }
    char deep[300000];
    memset(deep, 1, sizeof deep);
    srand((int)(long)seed);
    pthread_mutex_unlock(&lock);
    return seed;
}

int main(void) {
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room}, before;
    assert(sigaltstack(NULL, &before) == 0 && before.ss_flags == SS_DISABLE);
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
    page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, run, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
