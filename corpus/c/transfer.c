// Two accounts, each with a lock, taken in two orders.
// expect: bug deadlock cost 1
// expect FIXED=1: verified
#include <assert.h>
#include <pthread.h>

struct account {
    pthread_mutex_t lock;
    long balance;
};

static struct account accounts[2] = {
    { PTHREAD_MUTEX_INITIALIZER, 100 },
    { PTHREAD_MUTEX_INITIALIZER, 50 },
};

static void transfer(struct account *from, struct account *to, long amount) {
    struct account *first = from, *second = to;
#ifdef FIXED
    if (second < first) {
        first = to;
        second = from;
    }
#endif
    pthread_mutex_lock(&first->lock);
    pthread_mutex_lock(&second->lock);
    from->balance -= amount;
    to->balance += amount;
    pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
}

static void *there(void *unused) {
    transfer(&accounts[0], &accounts[1], 10);
    return NULL;
}

static void *back(void *unused) {
    transfer(&accounts[1], &accounts[0], 20);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, there, NULL);
    pthread_create(&b, NULL, back, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(accounts[0].balance == 110 && accounts[1].balance == 40);
    return 0;
}
