// Messages come in the order of their priorities, a full queue is waited for, and who receives comes after who has sent.
// expect: verified
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
static int data;
static void *sends(void *unused) {
    mqd_t queue = mq_open("/numbers", O_WRONLY);
    assert(queue >= 0);
    data = 42;
    assert(mq_send(queue, "low", 3, 1) == 0);
    assert(mq_send(queue, "high", 4, 7) == 0);
    assert(mq_send(queue, "low too", 7, 1) == 0);
    assert(mq_close(queue) == 0);
    return unused;
}
int main(void) {
    struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 16};
    char text[16];
    unsigned priority;
    pthread_t thread;
    assert(mq_open("/numbers", O_RDWR) == -1 && errno == ENOENT);
    assert(mq_open("numbers", O_RDWR | O_CREAT, 0600, NULL) == -1 && errno == EINVAL);
    mqd_t queue = mq_open("/numbers", O_RDONLY | O_CREAT | O_EXCL, 0600, &attributes);
    assert(queue >= 0);
    assert(mq_open("/numbers", O_RDWR | O_CREAT | O_EXCL, 0600, NULL) == -1 && errno == EEXIST);
    assert(mq_receive(queue, text, 15, NULL) == -1 && errno == EMSGSIZE);
    assert(mq_send(queue, text, 1, 0) == -1 && errno == EBADF);
    pthread_create(&thread, NULL, sends, NULL);
    struct pollfd file = {.fd = queue, .events = POLLIN};
    assert(poll(&file, 1, -1) == 1);
    int got = mq_receive(queue, text, sizeof text, &priority);
    assert(got > 0 && data == 42);
    int is_high = priority == 7;
    assert(is_high ? got == 4 && !memcmp(text, "high", 4) : got == 3 && priority == 1);
    got = mq_receive(queue, text, sizeof text, &priority);
    assert(is_high ? got == 3 && !memcmp(text, "low", 3) : got == 4 || got == 7);
    assert(mq_receive(queue, text, sizeof text, &priority) > 0);
    pthread_join(thread, NULL);
    assert(mq_getattr(queue, &attributes) == 0 && attributes.mq_curmsgs == 0 && attributes.mq_maxmsg == 2);
    attributes.mq_flags = O_NONBLOCK;
    assert(mq_setattr(queue, &attributes, NULL) == 0);
    assert(mq_receive(queue, text, sizeof text, NULL) == -1 && errno == EAGAIN);
    assert(mq_unlink("/numbers") == 0 && mq_unlink("/numbers") == -1 && errno == ENOENT);
    assert(close(queue) == 0 && mq_close(queue) == -1 && errno == EBADF);
}
