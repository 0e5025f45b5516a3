// expect: verified
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
static void descend(jmp_buf *back, int n) {
    if (n == 0) longjmp(*back, 5);
    descend(back, n - 1);
}
static void *run(void *unused) {
    jmp_buf back;
    int result = setjmp(back);
    if (!result) descend(&back, 5);
    assert(result == 5);
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
