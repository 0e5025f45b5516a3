// The call of who uses a stream last comes after what was done before the calls of threads that have ended.
// expect: verified
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static FILE *stream;
static atomic_int is_written;
static int data;

static void *writer(void *unused) {
    data = 1;
    fputc('a', stream);
    atomic_store_explicit(&is_written, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    char text[16] = {0};
    pthread_t thread;
    stream = fmemopen(text, sizeof text, "w");
    pthread_create(&thread, 0, writer, 0);
    if (atomic_load_explicit(&is_written, memory_order_relaxed) && ftell(stream) == 1)
        data++;
    pthread_join(thread, 0);
    fclose(stream);
}
