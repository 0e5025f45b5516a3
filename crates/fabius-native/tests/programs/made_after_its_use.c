// A mutex that is initialized while another thread holds it excludes nobody, and is not that one's to unlock.
// expect: bug sync_misuse 2
#include <pthread.h>
static pthread_mutex_t mutex;
static int x;
static void *run(void *unused) {
    pthread_mutex_lock(&mutex);
    x = x + 1;
    pthread_mutex_unlock(&mutex);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_mutex_init(&mutex, NULL);
    run(NULL);
    pthread_join(thread, NULL);
}
