// A serial port. Writes put bytes into a ring, from which a deferred procedure call feeds the transmitter; an interrupt says
// that the transmitter is empty or that a byte has come. The race: whether the transmitter has to be started is looked at
// outside of the lock, while the deferred call is about to find the ring empty; then a byte lies there, and nobody sends it.
// expect: bug assertion within 2 delays
// expect FIXED=1: no bug within 2 delays
#include "kernel.h"

/* ---- registers ----------------------------------------------------------------------------------------------------- */

enum {
    IER_RECEIVE = 1,
    IER_TRANSMIT = 2,
    LSR_DATA_READY = 1,
    LSR_OVERRUN = 2,
    LSR_THR_EMPTY = 32,
};

enum { RING = 4, CONTROL_FLUSH = 1, CONTROL_DRAIN = 2, CONTROL_STATISTICS = 3 };

struct registers {
    unsigned char data;
    unsigned char interrupts_enabled;
    unsigned char line_status;
};

struct ring {
    unsigned char bytes[RING];
    unsigned head;
    unsigned tail;
};

struct device {
    spinlock lock;
    struct registers port;
    struct ring transmit;
    struct ring receive;
    struct queue reads;
    unsigned opened : 4;
    unsigned exclusive : 1;
    unsigned : 0;
    int transmitting;
    unsigned bytes_written;
    unsigned bytes_sent;
    unsigned bytes_received;
    unsigned overruns;
};

static struct device port;

/* ---- rings ----------------------------------------------------------------------------------------------------------- */

static unsigned ring_count(const struct ring *r) {
    return r->head - r->tail;
}

static int ring_put(struct ring *r, unsigned char byte) {
    if (ring_count(r) == RING)
        return 0;
    r->bytes[r->head % RING] = byte;
    r->head++;
    return 1;
}

static int ring_get(struct ring *r, unsigned char *byte) {
    if (ring_count(r) == 0)
        return 0;
    *byte = r->bytes[r->tail % RING];
    r->tail++;
    return 1;
}

/* ---- the transmitter --------------------------------------------------------------------------------------------------- */

static void send_byte(struct device *d, unsigned char byte) {
    d->port.data = byte;
    d->port.line_status &= ~LSR_THR_EMPTY;
    /* The wire takes no time here. */
    d->bytes_sent++;
    d->port.line_status |= LSR_THR_EMPTY;
}

/* At dispatch level: sends what is in the ring, and then stops the transmitter. */
static void transmit_deferred(void *context) {
    struct device *d = context;
    unsigned char byte;
    for (;;) {
        lock_acquire(&d->lock);
        if (!ring_get(&d->transmit, &byte)) {
            d->port.interrupts_enabled &= ~IER_TRANSMIT;
            d->transmitting = 0;
            lock_release(&d->lock);
            return;
        }
        send_byte(d, byte);
        lock_release(&d->lock);
    }
}

static void start_transmitter(struct device *d) {
    d->port.interrupts_enabled |= IER_TRANSMIT;
    fabius_post_at(DISPATCH_LEVEL, transmit_deferred, d);
}

/* ---- the receiver ---------------------------------------------------------------------------------------------------------- */

/* With the lock held: gives bytes that have come to reads that wait. */
static struct request *satisfy_read(struct device *d) {
    struct request *r = d->reads.head;
    unsigned char byte;
    if (!r)
        return NULL;
    while (r->done < r->length && ring_get(&d->receive, &byte))
        r->done++;
    if (r->done < r->length)
        return NULL;
    queue_pop(&d->reads);
    return r;
}

static void receive_deferred(void *context) {
    struct device *d = context;
    struct request *r;
    do {
        lock_acquire(&d->lock);
        r = satisfy_read(d);
        lock_release(&d->lock);
        if (r)
            request_complete(r, STATUS_SUCCESS);
    } while (r);
}

/* At device level. */
static void interrupt(void *context) {
    struct device *d = context;
    if (!(d->port.line_status & LSR_DATA_READY))
        return;
    lock_acquire(&d->lock);
    if (ring_put(&d->receive, d->port.data)) {
        d->bytes_received++;
    } else {
        d->overruns++;
        d->port.line_status |= LSR_OVERRUN;
    }
    d->port.line_status &= ~LSR_DATA_READY;
    lock_release(&d->lock);
    fabius_post_at(DISPATCH_LEVEL, receive_deferred, d);
}

/* ---- dispatch routines ------------------------------------------------------------------------------------------------------- */

static enum status serial_open(struct device *d, struct request *r) {
    enum status status = STATUS_SUCCESS;
    lock_acquire(&d->lock);
    if (d->exclusive && d->opened)
        status = STATUS_BUSY;
    else
        d->opened++;
    if (status == STATUS_SUCCESS && r->code)
        d->exclusive = 1;
    d->port.interrupts_enabled |= IER_RECEIVE;
    lock_release(&d->lock);
    return status;
}

static enum status serial_close(struct device *d, struct request *r) {
    struct request *waiting;
    (void)r;
    lock_acquire(&d->lock);
    d->opened--;
    if (d->opened == 0) {
        d->exclusive = 0;
        d->port.interrupts_enabled &= ~IER_RECEIVE;
    }
    waiting = queue_pop(&d->reads);
    lock_release(&d->lock);
    if (waiting)
        request_complete(waiting, STATUS_CANCELLED);
    return STATUS_SUCCESS;
}

static enum status serial_read(struct device *d, struct request *r) {
    struct request *ready;
    if (r->length == 0 || r->length > RING)
        return STATUS_BAD_PARAMETER;
    lock_acquire(&d->lock);
    r->pending = 1;
    queue_push(&d->reads, r);
    ready = satisfy_read(d);
    lock_release(&d->lock);
    if (ready)
        request_complete(ready, STATUS_SUCCESS);
    return STATUS_PENDING;
}

static enum status serial_write(struct device *d, struct request *r) {
    int start = 0;
    if (r->length == 0)
        return STATUS_SUCCESS;
#ifndef FIXED
    /* It is running: what we put into the ring will be sent. Or will it? */
    start = !d->transmitting;
#endif
    lock_acquire(&d->lock);
    while (r->done < r->length && ring_put(&d->transmit, (unsigned char)('a' + r->done)))
        r->done++;
    d->bytes_written += r->done;
#ifdef FIXED
    start = !d->transmitting;
#endif
    if (start)
        d->transmitting = 1;
    lock_release(&d->lock);
    if (start)
        start_transmitter(d);
    return r->done == r->length ? STATUS_SUCCESS : STATUS_TIMEOUT;
}

static enum status serial_control(struct device *d, struct request *r) {
    enum status status = STATUS_SUCCESS;
    lock_acquire(&d->lock);
    switch (r->code) {
    case CONTROL_FLUSH:
        d->receive.tail = d->receive.head;
        break;
    case CONTROL_DRAIN:
        /* A byte in the ring has somebody who sends it. */
        assert(ring_count(&d->transmit) == 0 || d->transmitting);
        if (ring_count(&d->transmit))
            status = STATUS_BUSY;
        break;
    case CONTROL_STATISTICS:
        r->done = d->bytes_sent;
        assert(d->bytes_sent <= d->bytes_written);
        break;
    default:
        status = STATUS_BAD_PARAMETER;
    }
    lock_release(&d->lock);
    return status;
}

static const struct driver serial = {
    .name = "serial",
    .major = {
        [MJ_OPEN] = serial_open,
        [MJ_CLOSE] = serial_close,
        [MJ_READ] = serial_read,
        [MJ_WRITE] = serial_write,
        [MJ_CONTROL] = serial_control,
    },
};

/* ---- the system ----------------------------------------------------------------------------------------------------------------- */

static struct request open_request, first_write, second_write, read_request, drain;

static void call(void *argument) {
    io_call(&serial, &port, argument);
}

/* One processor writes, and asks whether all was sent. */
static void first_processor(void *unused) {
    (void)unused;
    fabius_post(call, &first_write);
}

/* The other one writes, too, and has the interrupts of the port. */
static void second_processor(void *unused) {
    (void)unused;
    io_call(&serial, &port, &read_request);
    port.port.data = 'x';
    port.port.line_status |= LSR_DATA_READY;
    fabius_post_at(DEVICE_LEVEL, interrupt, &port);
    io_call(&serial, &port, &second_write);
    io_call(&serial, &port, &drain);
}

int main(void) {
    lock_init(&port.lock);
    port.port.line_status = LSR_THR_EMPTY;
    request_init(&open_request, MJ_OPEN, 0, 0);
    request_init(&first_write, MJ_WRITE, 0, 2);
    request_init(&second_write, MJ_WRITE, 0, 1);
    request_init(&read_request, MJ_READ, 0, 1);
    request_init(&drain, MJ_CONTROL, CONTROL_DRAIN, 0);
    io_call(&serial, &port, &open_request);
    assert(open_request.status == STATUS_SUCCESS);
    fabius_buffer(first_processor, NULL);
    fabius_buffer(second_processor, NULL);
    return 0;
}
