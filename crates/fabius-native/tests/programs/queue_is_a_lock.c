// A queue with room for one message is a lock: who sends has it, until the message is received again.
// expect: verified
#include <assert.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
static mqd_t queue;
static int count;
static void *adds(void *unused) {
    char text;
    mq_send(queue, "x", 1, 0);
    count++;
    mq_receive(queue, &text, 1, NULL);
    return unused;
}
int main(void) {
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 1};
    pthread_t threads[2];
    queue = mq_open("/lock", O_RDWR | O_CREAT, 0600, &attributes);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, adds, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert(count == 2);
}
