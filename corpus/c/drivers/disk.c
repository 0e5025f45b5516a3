// A disk with one request at a time. Requests wait in a queue; an interrupt says that the transfer is over, and a deferred
// procedure call completes the request and starts the next one. A request can be cancelled, and a timer gives up one that takes
// too long. The race: the timer takes the current request, looks whether it is late, and completes it without the lock, while
// the deferred call on the other processor completes it, too.
// expect: bug assertion within 2 delays
// expect FIXED=1: no bug within 2 delays
#include "kernel.h"

/* ---- the controller ------------------------------------------------------------------------------------------------ */

enum { COMMAND_NONE, COMMAND_READ, COMMAND_WRITE, COMMAND_RESET };
enum { BUSY = 1, ERROR = 2, INTERRUPT = 4 };
enum { SECTORS = 8, SECTOR = 2, LATE = 1, RETRIES = 1 };
enum { CONTROL_CANCEL = 1, CONTROL_FLUSH = 2, CONTROL_GEOMETRY = 3 };

/* What the controller says of itself: the same word as a number and by its parts. */
union status_register {
    unsigned short word;
    struct {
        unsigned char flags;
        unsigned char code;
    } part;
};

struct controller {
    union status_register status;
    unsigned char command;
    unsigned char sector;
    unsigned char data;
};

struct device {
    spinlock lock;
    struct controller controller;
    struct queue waiting;
    struct request *current;
    unsigned char sectors[SECTORS];
    int ticks;
    int retries;
    struct {
        unsigned started;
        unsigned finished;
        unsigned timed_out;
        unsigned cancelled;
    } count;
};

static struct device disk;

/* ---- commands ----------------------------------------------------------------------------------------------------------- */

static void controller_reset(struct controller *c) {
    c->status.word = 0;
    c->command = COMMAND_NONE;
}

/* What the hardware does. */
static void controller_run(struct device *d) {
    struct controller *c = &d->controller;
    switch (c->command) {
    case COMMAND_READ:
        c->data = d->sectors[c->sector % SECTORS];
        break;
    case COMMAND_WRITE:
        d->sectors[c->sector % SECTORS] = c->data;
        break;
    case COMMAND_RESET:
        controller_reset(c);
        return;
    default:
        c->status.part.code = 1;
        c->status.part.flags |= ERROR;
    }
    c->status.part.flags &= (unsigned char)~BUSY;
    c->status.part.flags |= INTERRUPT;
}

static int is_idle(const struct controller *c) {
    return (c->status.part.flags & (BUSY | INTERRUPT)) == 0;
}

/* ---- the queue ------------------------------------------------------------------------------------------------------------- */

/* With the lock held: hands a request to the controller. */
static void start(struct device *d, struct request *r) {
    struct controller *c = &d->controller;
    assert(d->current == NULL);
    assert(is_idle(c));
    d->current = r;
    d->ticks = 0;
    d->count.started++;
    c->sector = (unsigned char)r->code;
    c->command = r->major == MJ_READ ? COMMAND_READ : COMMAND_WRITE;
    if (r->major == MJ_WRITE)
        c->data = (unsigned char)(r->code + 1);
    c->status.part.flags |= BUSY;
}

static void start_next(struct device *d) {
    struct request *r = queue_pop(&d->waiting);
    if (r)
        start(d, r);
}

/* With the lock held: the request is nobody's any more. */
static struct request *take_current(struct device *d) {
    struct request *r = d->current;
    d->current = NULL;
    return r;
}

/* At dispatch level: the transfer is over. */
static void transfer_deferred(void *context) {
    struct device *d = context;
    enum status status = STATUS_SUCCESS;
    struct request *r;
    lock_acquire(&d->lock);
    if (!(d->controller.status.part.flags & INTERRUPT)) {
        lock_release(&d->lock);
        return;
    }
    if (d->controller.status.part.flags & ERROR)
        status = STATUS_NO_DEVICE;
    controller_reset(&d->controller);
    r = take_current(d);
    if (r) {
        r->done = r->length;
        d->count.finished++;
    }
    start_next(d);
    lock_release(&d->lock);
    if (r)
        request_complete(r, status);
}

/* At device level. */
static void interrupt(void *context) {
    struct device *d = context;
    int ours;
    lock_acquire(&d->lock);
    ours = d->controller.status.part.flags & BUSY;
    if (ours)
        controller_run(d);
    lock_release(&d->lock);
    if (!ours)
        return;
    fabius_post_at(DISPATCH_LEVEL, transfer_deferred, d);
}

/* ---- the timer ---------------------------------------------------------------------------------------------------------------- */

/* At dispatch level of another processor, each second. */
static void timer_deferred(void *context) {
    struct device *d = context;
    struct request *late = NULL;
#ifdef FIXED
    lock_acquire(&d->lock);
    if (d->current && ++d->ticks >= LATE) {
        late = take_current(d);
        controller_reset(&d->controller);
        d->count.timed_out++;
    }
    lock_release(&d->lock);
#else
    struct request *r = d->current;
    if (r && ++d->ticks >= LATE) {
        lock_acquire(&d->lock);
        late = r;
        d->current = NULL;
        controller_reset(&d->controller);
        d->count.timed_out++;
        lock_release(&d->lock);
    }
#endif
    if (late)
        request_complete(late, STATUS_TIMEOUT);
    lock_acquire(&d->lock);
    if (!d->current && is_idle(&d->controller))
        start_next(d);
    lock_release(&d->lock);
}

/* ---- dispatch routines ------------------------------------------------------------------------------------------------------------ */

static enum status disk_transfer(struct device *d, struct request *r) {
    if (r->code >= SECTORS || r->length != SECTOR)
        return STATUS_BAD_PARAMETER;
    lock_acquire(&d->lock);
    r->pending = 1;
    if (d->current || !is_idle(&d->controller))
        queue_push(&d->waiting, r);
    else
        start(d, r);
    lock_release(&d->lock);
    return STATUS_PENDING;
}

static struct request *victim;

static enum status disk_control(struct device *d, struct request *r) {
    struct request *cancelled = NULL;
    enum status status = STATUS_SUCCESS;
    switch (r->code) {
    case CONTROL_CANCEL:
        lock_acquire(&d->lock);
        /* Only what waits: the controller does not stop. */
        if (victim && queue_remove(&d->waiting, victim)) {
            cancelled = victim;
            cancelled->cancelled = 1;
            d->count.cancelled++;
        } else {
            status = STATUS_BUSY;
        }
        lock_release(&d->lock);
        break;
    case CONTROL_FLUSH:
        lock_acquire(&d->lock);
        status = d->current || d->waiting.length ? STATUS_BUSY : STATUS_SUCCESS;
        lock_release(&d->lock);
        break;
    case CONTROL_GEOMETRY:
        r->done = SECTORS;
        break;
    default:
        status = STATUS_BAD_PARAMETER;
    }
    if (cancelled)
        request_complete(cancelled, STATUS_CANCELLED);
    return status;
}

static const struct driver driver = {
    .name = "disk",
    .major = {
        [MJ_READ] = disk_transfer,
        [MJ_WRITE] = disk_transfer,
        [MJ_CONTROL] = disk_control,
    },
};

/* ---- the system ---------------------------------------------------------------------------------------------------------------------- */

static struct request read_request, write_request, cancel_request, geometry;

/* One processor has the interrupts of the disk. */
static void first_processor(void *unused) {
    (void)unused;
    io_call(&driver, &disk, &read_request);
    io_call(&driver, &disk, &write_request);
    fabius_post_at(DEVICE_LEVEL, interrupt, &disk);
    io_call(&driver, &disk, &cancel_request);
}

/* The other one has the timer. */
static void second_processor(void *unused) {
    (void)unused;
    io_call(&driver, &disk, &geometry);
    assert(geometry.done == SECTORS);
    fabius_post_at(DISPATCH_LEVEL, timer_deferred, &disk);
}

int main(void) {
    lock_init(&disk.lock);
    for (unsigned i = 0; i < SECTORS; i++)
        disk.sectors[i] = (unsigned char)i;
    request_init(&read_request, MJ_READ, 3, SECTOR);
    request_init(&write_request, MJ_WRITE, 5, SECTOR);
    request_init(&cancel_request, MJ_CONTROL, CONTROL_CANCEL, 0);
    request_init(&geometry, MJ_CONTROL, CONTROL_GEOMETRY, 0);
    victim = &write_request;
    fabius_buffer(first_processor, NULL);
    fabius_buffer(second_processor, NULL);
    return 0;
}
