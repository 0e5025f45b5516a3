// Who reads from one event, or from one of a pair of sockets, learns nothing of what went through others.
// expect: bug data_race 0
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
static int filled, empty, pair[2], other[2], number;
static atomic_int is_set;
static void *look(void *unused) {
    long taken;
    char c;
    if (atomic_load_explicit(&is_set, memory_order_relaxed)) {
        read(filled, &taken, 8);
        read(pair[0], &c, 1);
        number++;
    }
    return unused;
}
int main(void) {
    pthread_t thread;
    long one = 1;
    filled = eventfd(1, 0);
    empty = eventfd(0, 0);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    socketpair(AF_UNIX, SOCK_STREAM, 0, other);
    write(pair[1], "x", 1);
    pthread_create(&thread, 0, look, 0);
    number = 1;
    write(empty, &one, 8);
    write(other[1], "x", 1);
    atomic_store_explicit(&is_set, 1, memory_order_relaxed);
    pthread_join(thread, 0);
}
