// A message with a tag and a union: who reads looks at the tag outside of the lock, and at the union inside.
// expect: bug assertion cost 1
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { NUMBER, PAIR };

struct message {
    atomic_int tag;
    union {
        int number;
        struct {
            short left, right;
        } pair;
    };
};

static struct message message = { .tag = NUMBER, .number = 7 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *writer(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    message.tag = PAIR;
    message.pair.left = 1;
    message.pair.right = 2;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *reader(void *unused) {
    (void)unused;
#ifdef FIXED
    pthread_mutex_lock(&lock);
    int tag = message.tag;
#else
    int tag = message.tag;
    pthread_mutex_lock(&lock);
#endif
    if (tag == NUMBER)
        assert(message.number == 7);
    else
        assert(message.pair.left == 1 && message.pair.right == 2);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t w, r;
    pthread_create(&r, NULL, reader, NULL);
    pthread_create(&w, NULL, writer, NULL);
    pthread_join(r, NULL);
    pthread_join(w, NULL);
    return 0;
}
