// States of a connection as a table of functions. The wrong version looks at the state outside of the lock.
// expect: bug assertion cost 1
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum state { CLOSED, OPEN, STATES };

struct connection {
    pthread_mutex_t lock;
    _Atomic enum state state;
    int opened;
};

typedef void (*handler)(struct connection *);

static void open_it(struct connection *c) {
    c->opened++;
    c->state = OPEN;
}

static void keep_it(struct connection *c) {
    assert(c->state == OPEN);
}

static const handler handlers[STATES] = { [CLOSED] = open_it, [OPEN] = keep_it };

static struct connection connection = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *request(void *arg) {
    struct connection *c = arg;
#ifdef FIXED
    pthread_mutex_lock(&c->lock);
    enum state now = c->state;
#else
    enum state now = c->state;
    pthread_mutex_lock(&c->lock);
#endif
    handlers[now](c);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, request, &connection);
    pthread_create(&b, NULL, request, &connection);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(connection.opened == 1);
    return 0;
}
