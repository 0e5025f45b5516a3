// expect: verified
#include <pthread.h>
#include <unistd.h>
static void *leave(void *unused) {
    _exit(0);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, leave, 0);
    pthread_join(thread, 0);
}
