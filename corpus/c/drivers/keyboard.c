// A keyboard that can be pulled out. Reads wait for keys; an interrupt brings a key and a deferred procedure call gives it to a
// read. Requests in work are counted, and who removes the device waits until there are none. The race: the count is looked at
// before the flag that says that the device goes; a request that comes between works on a device that is gone.
// expect: bug assertion within 2 delays
// expect FIXED=1: no bug within 2 delays
#include "kernel.h"

enum { KEYS = 4, INDICATORS = 3, CONTROL_INDICATORS = 1, CONTROL_TYPEMATIC = 2, POWER_REMOVE = 1, POWER_SLEEP = 2, POWER_WAKE = 3 };

/* What the keyboard says of a key, in the bits in which it comes over the wire. */
union scan {
    unsigned short raw;
    struct {
        unsigned short code : 7;
        unsigned short released : 1;
        unsigned short extended : 1;
        unsigned short shift : 2;
        unsigned short reserved : 5;
    };
};

enum state { STARTED, ASLEEP, REMOVED };

struct device {
    spinlock lock;
    enum state state;
    /* Requests in work, and one for the device itself. */
    _Atomic int in_work;
    _Atomic int removing;
    _Atomic int idle;
    struct queue reads;
    union scan keys[KEYS];
    unsigned head;
    unsigned tail;
    struct {
        unsigned caps : 1;
        unsigned num : 1;
        unsigned scroll : 1;
        unsigned rate : 5;
    } lights;
    unsigned lost;
    unsigned delivered;
};

static struct device keyboard;
static union scan wire;

/* ---- who is at work ---------------------------------------------------------------------------------------------------- */

static void leave(struct device *d) {
    if (--d->in_work == 0)
        d->idle = 1;
}

/* Says whether the device is there for a request; then `leave` comes later. */
static int enter(struct device *d) {
#ifdef FIXED
    d->in_work++;
    if (d->removing) {
        leave(d);
        return 0;
    }
#else
    if (d->removing)
        return 0;
    d->in_work++;
#endif
    return 1;
}

/* ---- keys ----------------------------------------------------------------------------------------------------------------- */

static unsigned keys_waiting(const struct device *d) {
    return d->head - d->tail;
}

static int is_modifier(union scan key) {
    switch (key.code) {
    case 29:
    case 42:
    case 54:
    case 56:
        return 1;
    default:
        return 0;
    }
}

/* With the lock held. */
static void put_key(struct device *d, union scan key) {
    if (keys_waiting(d) == KEYS) {
        d->lost++;
        return;
    }
    d->keys[d->head++ % KEYS] = key;
}

static void light(struct device *d, union scan key) {
    if (key.released)
        return;
    if (key.code == 58)
        d->lights.caps = !d->lights.caps;
    else if (key.code == 69)
        d->lights.num = !d->lights.num;
    else if (key.code == 70)
        d->lights.scroll = !d->lights.scroll;
}

/* With the lock held: the first read that a key is there for. */
static struct request *read_with_key(struct device *d) {
    while (keys_waiting(d) && is_modifier(d->keys[d->tail % KEYS]))
        d->tail++;
    if (!d->reads.length || !keys_waiting(d))
        return NULL;
    struct request *r = queue_pop(&d->reads);
    r->code = d->keys[d->tail++ % KEYS].raw;
    r->done = sizeof(union scan);
    d->delivered++;
    return r;
}

/* ---- interrupts -------------------------------------------------------------------------------------------------------------- */

static void keys_deferred(void *context) {
    struct device *d = context;
    struct request *r;
    do {
        lock_acquire(&d->lock);
        r = d->state == STARTED ? read_with_key(d) : NULL;
        lock_release(&d->lock);
        if (r) {
            request_complete(r, STATUS_SUCCESS);
            leave(d);
        }
    } while (r);
}

static void interrupt(void *context) {
    struct device *d = context;
    union scan key = wire;
    if (key.raw == 0)
        return;
    lock_acquire(&d->lock);
    if (d->state == STARTED) {
        put_key(d, key);
        light(d, key);
    }
    lock_release(&d->lock);
    fabius_post_at(DISPATCH_LEVEL, keys_deferred, d);
}

/* ---- dispatch routines ----------------------------------------------------------------------------------------------------------- */

static enum status keyboard_read(struct device *d, struct request *r) {
    struct request *ready;
    if (!enter(d))
        return STATUS_NO_DEVICE;
    lock_acquire(&d->lock);
    /* Who has entered finds the device. */
    assert(d->state != REMOVED);
    r->pending = 1;
    queue_push(&d->reads, r);
    ready = read_with_key(d);
    lock_release(&d->lock);
    if (ready) {
        request_complete(ready, STATUS_SUCCESS);
        leave(d);
    }
    return STATUS_PENDING;
}

static enum status keyboard_control(struct device *d, struct request *r) {
    enum status status = STATUS_SUCCESS;
    if (!enter(d))
        return STATUS_NO_DEVICE;
    lock_acquire(&d->lock);
    assert(d->state != REMOVED);
    switch (r->code) {
    case CONTROL_INDICATORS:
        r->done = d->lights.caps + 2 * d->lights.num + 4 * d->lights.scroll;
        break;
    case CONTROL_TYPEMATIC:
        d->lights.rate = r->length;
        if (d->lights.rate != r->length)
            status = STATUS_BAD_PARAMETER;
        break;
    default:
        status = STATUS_BAD_PARAMETER;
    }
    lock_release(&d->lock);
    leave(d);
    return status;
}

/* Reads that wait go back to whoever made them. */
static void drop_reads(struct device *d) {
    struct request *r;
    do {
        lock_acquire(&d->lock);
        r = queue_pop(&d->reads);
        lock_release(&d->lock);
        if (r) {
            request_complete(r, STATUS_CANCELLED);
            leave(d);
        }
    } while (r);
}

static enum status keyboard_remove(struct device *d) {
    d->removing = 1;
    drop_reads(d);
    /* That of the device itself. */
    leave(d);
    fabius_assume(d->idle);
    lock_acquire(&d->lock);
    d->state = REMOVED;
    d->head = d->tail = 0;
    lock_release(&d->lock);
    return STATUS_SUCCESS;
}

static enum status keyboard_power(struct device *d, struct request *r) {
    switch (r->code) {
    case POWER_REMOVE:
        return keyboard_remove(d);
    case POWER_SLEEP:
    case POWER_WAKE:
        lock_acquire(&d->lock);
        if (d->state != REMOVED)
            d->state = r->code == POWER_SLEEP ? ASLEEP : STARTED;
        lock_release(&d->lock);
        return STATUS_SUCCESS;
    default:
        return STATUS_BAD_PARAMETER;
    }
}

static const struct driver driver = {
    .name = "keyboard",
    .major = {
        [MJ_READ] = keyboard_read,
        [MJ_CONTROL] = keyboard_control,
        [MJ_POWER] = keyboard_power,
    },
};

/* ---- the system --------------------------------------------------------------------------------------------------------------------- */

static struct request read_request, indicators, remove_request;

static void first_processor(void *unused) {
    (void)unused;
    io_call(&driver, &keyboard, &read_request);
    wire.code = 30;
    fabius_post_at(DEVICE_LEVEL, interrupt, &keyboard);
    io_call(&driver, &keyboard, &indicators);
}

static void second_processor(void *unused) {
    (void)unused;
    io_call(&driver, &keyboard, &remove_request);
}

int main(void) {
    lock_init(&keyboard.lock);
    keyboard.state = STARTED;
    keyboard.in_work = 1;
    request_init(&read_request, MJ_READ, 0, sizeof(union scan));
    request_init(&indicators, MJ_CONTROL, CONTROL_INDICATORS, 0);
    request_init(&remove_request, MJ_POWER, POWER_REMOVE, 0);
    fabius_buffer(first_processor, NULL);
    fabius_buffer(second_processor, NULL);
    return 0;
}
