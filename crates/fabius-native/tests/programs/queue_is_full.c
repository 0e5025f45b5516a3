// Two threads that send more than their queues have room for, before they receive, wait for each other.
// expect: bug deadlock 0
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
static mqd_t queues[2];
static void *talks(void *number) {
    int mine = (long)number;
    char text;
    for (int i = 0; i < 2; i++) mq_send(queues[!mine], "x", 1, 0);
    for (int i = 0; i < 2; i++) mq_receive(queues[mine], &text, 1, NULL);
    return NULL;
}
int main(void) {
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 1};
    pthread_t thread;
    queues[0] = mq_open("/one", O_RDWR | O_CREAT, 0600, &attributes);
    queues[1] = mq_open("/other", O_RDWR | O_CREAT, 0600, &attributes);
    pthread_create(&thread, NULL, talks, (void *)1);
    talks((void *)0);
    pthread_join(thread, NULL);
}
