// A message that is waited for with a limit may come too late, and room for one, too.
// expect: bug assertion 0
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <time.h>
static mqd_t queue;
static void *sends(void *unused) {
    assert(mq_send(queue, "x", 1, 0) == 0);
    return unused;
}
int main(void) {
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 1};
    struct timespec time;
    char text;
    pthread_t thread;
    queue = mq_open("/late", O_RDWR | O_CREAT, 0600, &attributes);
    clock_gettime(CLOCK_REALTIME, &time);
    assert(mq_send(queue, "y", 1, 0) == 0);
    time.tv_sec++;
    assert(mq_timedsend(queue, "z", 1, 0, &time) == -1 && errno == ETIMEDOUT);
    assert(mq_timedreceive(queue, &text, 1, NULL, &time) == 1 && text == 'y');
    pthread_create(&thread, NULL, sends, NULL);
    assert(mq_timedreceive(queue, &text, 1, NULL, &time) == 1);
    pthread_join(thread, NULL);
}
