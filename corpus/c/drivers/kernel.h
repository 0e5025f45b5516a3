/* What the drivers of this folder expect of a system: levels, requests, queues of them, locks, and who calls the driver.
   A buffer of tasks is a processor. A routine at a higher level interrupts those below it on its own processor. */
#ifndef KERNEL_H
#define KERNEL_H

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include "fabius.h"

enum level { PASSIVE_LEVEL = 0, DISPATCH_LEVEL = 1, DEVICE_LEVEL = 2 };

enum status {
    STATUS_SUCCESS,
    STATUS_PENDING,
    STATUS_CANCELLED,
    STATUS_BUSY,
    STATUS_NO_DEVICE,
    STATUS_BAD_PARAMETER,
    STATUS_TIMEOUT,
};

enum major { MJ_OPEN, MJ_CLOSE, MJ_READ, MJ_WRITE, MJ_CONTROL, MJ_POWER, MJ_COUNT };

/* A request, as the system hands it to a driver. It is completed exactly once. */
struct request {
    enum major major;
    unsigned code;
    unsigned length;
    unsigned done;
    enum status status;
    unsigned pending : 1;
    unsigned cancelled : 1;
    unsigned : 0;
    int completions;
    struct request *next;
};

struct device;

typedef enum status (*dispatch_routine)(struct device *, struct request *);

struct driver {
    const char *name;
    dispatch_routine major[MJ_COUNT];
};

/* ---- requests -------------------------------------------------------------------------------------------------- */

static void request_init(struct request *r, enum major major, unsigned code, unsigned length) {
    *r = (struct request){ .major = major, .code = code, .length = length, .status = STATUS_PENDING };
}

static void request_complete(struct request *r, enum status status) {
    /* Whoever completes a request twice gives its memory back twice. */
    assert(r->completions == 0);
    r->completions++;
    r->status = status;
}

/* ---- queues of requests ------------------------------------------------------------------------------------------ */

struct queue {
    struct request *head;
    struct request *tail;
    unsigned length;
};

static void queue_push(struct queue *q, struct request *r) {
    r->next = NULL;
    if (q->tail)
        q->tail->next = r;
    else
        q->head = r;
    q->tail = r;
    q->length++;
}

static struct request *queue_pop(struct queue *q) {
    struct request *r = q->head;
    if (!r)
        return NULL;
    q->head = r->next;
    if (!q->head)
        q->tail = NULL;
    r->next = NULL;
    q->length--;
    return r;
}

/* Takes one request out, wherever it is; says whether it was there. */
static int queue_remove(struct queue *q, struct request *r) {
    struct request *before = NULL;
    for (struct request *each = q->head; each; each = each->next) {
        if (each == r) {
            if (before)
                before->next = r->next;
            else
                q->head = r->next;
            if (q->tail == r)
                q->tail = before;
            r->next = NULL;
            q->length--;
            return 1;
        }
        before = each;
    }
    return 0;
}

/* ---- locks --------------------------------------------------------------------------------------------------------- */

typedef pthread_spinlock_t spinlock;

#define lock_init(l) pthread_spin_init((l), 0)
#define lock_acquire(l) pthread_spin_lock(l)
#define lock_release(l) pthread_spin_unlock(l)

/* ---- calls of the driver ---------------------------------------------------------------------------------------------- */

/* Hands a request to the driver, and completes it unless the driver keeps it. */
static enum status io_call(const struct driver *driver, struct device *device, struct request *r) {
    dispatch_routine routine = driver->major[r->major];
    enum status status;
    if (!routine)
        status = STATUS_BAD_PARAMETER;
    else
        status = routine(device, r);
    if (status != STATUS_PENDING)
        request_complete(r, status);
    return status;
}

#endif
