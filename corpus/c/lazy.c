// Lazy initialization by a check outside of the lock.
// expect: bug data_race cost 0
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct config {
    int ready;
    int value;
};

static struct config *config;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make(void) {
    struct config *made = malloc(sizeof(struct config));
    made->value = 42;
    config = made;
}

static struct config *get(void) {
#ifdef FIXED
    pthread_once(&once, make);
#else
    if (!config) {
        pthread_mutex_lock(&lock);
        if (!config)
            make();
        pthread_mutex_unlock(&lock);
    }
#endif
    return config;
}

static void *user(void *unused) {
    assert(get()->value == 42);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, user, NULL);
    pthread_create(&b, NULL, user, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
