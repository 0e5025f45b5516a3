// Main and a thread write x, take and give back a lock, and write x again. That they race on x does not matter: nobody looks.
// verdict: ok
// executions: 3 4 4
// classes: 2 2 2
#include <pthread.h>
static int x;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((no_sanitize_thread)) static void write(int value) { x = value; }
static void *work(void *unused) {
    write(1);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    write(2);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    work(0);
    pthread_join(thread, 0);
}
