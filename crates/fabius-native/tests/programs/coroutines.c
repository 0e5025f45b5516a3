// Coroutines by contexts, which two threads resume, switch threads in the middle as any other code does.
// expect: bug assertion 1

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <ucontext.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;

struct coroutine {
    ucontext_t here, back;
    char stack[1 << 16];
};

static __thread struct coroutine *current;

static void adds(void) {
    struct coroutine *me = current;
    pthread_mutex_lock(&lock);
    int before = value;
    pthread_mutex_unlock(&lock);
    swapcontext(&me->here, &me->back);
    pthread_mutex_lock(&lock);
    value = before + 1;
    pthread_mutex_unlock(&lock);
}

static void *run(void *unused) {
    struct coroutine *me = current = malloc(sizeof *me);
    getcontext(&me->here);
    me->here.uc_stack.ss_sp = me->stack;
    me->here.uc_stack.ss_size = sizeof me->stack;
    me->here.uc_link = &me->back;
    makecontext(&me->here, adds, 0);
    swapcontext(&me->back, &me->here);
    swapcontext(&me->back, &me->here);
    free(me);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert(value == 2);
    return 0;
}
