// A message is handed over and belongs to who takes it. The wrong version looks at it once more.
// expect: bug data_race cost 0
// expect FIXED=1: verified
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct message {
    atomic_int text;
};

static struct message *_Atomic box;

static void *receiver(void *unused) {
    struct message *m = atomic_exchange(&box, NULL);
    if (m)
        free(m);
    return NULL;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, receiver, NULL);
    struct message *m = malloc(sizeof(struct message));
    m->text = 1;
    int sent = m->text;
    atomic_store(&box, m);
#ifndef FIXED
    sent = m->text;
#endif
    pthread_join(t, NULL);
    return sent - 1;
}
