// expect: bug sync_misuse 0
#include <pthread.h>
static pthread_t thread;
static void *run(void *unused) { return unused; }
static void *detaches(void *unused) {
    pthread_detach(thread);
    return unused;
}
int main(void) {
    pthread_t other;
    pthread_create(&thread, NULL, run, NULL);
    pthread_create(&other, NULL, detaches, NULL);
    pthread_join(thread, NULL);
    pthread_join(other, NULL);
}
