// A message is received before the second one is sent: what its sender does behind the first one races.
// expect: bug data_race 0
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
static mqd_t queue;
static int data;
static void *sends(void *unused) {
    mq_send(queue, "x", 1, 0);
    data = 1;
    mq_send(queue, "y", 1, 0);
    return unused;
}
int main(void) {
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 1};
    char text;
    pthread_t thread;
    queue = mq_open("/queue", O_RDWR | O_CREAT, 0600, &attributes);
    pthread_create(&thread, NULL, sends, NULL);
    mq_receive(queue, &text, 1, NULL);
    int seen = data;
    pthread_join(thread, NULL);
    return seen;
}
