// expect: bug sync_misuse 0
#include <pthread.h>
int main(void) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_unlock(&lock);
}
