// The kernel does not write into a thread's storage on which processor it runs: states that are equal would look different.
// expect: verified
#include <assert.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif
int main(void) {
#ifdef RSEQ_SIG
    struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
    assert((int)area->cpu_id < 0);
#endif
}
