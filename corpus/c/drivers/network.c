// A network card. Packets to send stand in a ring of descriptors; the card says by an interrupt which are sent, and a deferred
// procedure call completes them. A watchdog resets a card that hangs. The race: the routine that sends counts free descriptors in
// front of the lock, while the watchdog or another sender takes the last one; then a descriptor is overwritten that the card has.
// expect: bug assertion within 2 delays
// expect FIXED=1: no bug within 2 delays
#include "kernel.h"

enum { DESCRIPTORS = 2, PACKET = 4, MULTICAST = 2 };
enum { CONTROL_MULTICAST = 1, CONTROL_STATISTICS = 2, CONTROL_LOOPBACK = 3 };
enum { CAUSE_SENT = 1, CAUSE_RECEIVED = 2, CAUSE_LINK = 4 };

/* A descriptor as the card reads it: flags and length in one word. */
struct descriptor {
    unsigned length : 12;
    unsigned last : 1;
    unsigned checksum : 1;
    unsigned owned_by_card : 1;
    unsigned done : 1;
    unsigned : 0;
    struct request *request;
};

/* An address is six bytes; filters compare it in two parts. */
union address {
    unsigned char bytes[6];
    struct {
        unsigned short high;
        unsigned char low[4];
    } parts;
};

struct ring {
    struct descriptor descriptors[DESCRIPTORS];
    unsigned next_to_use;
    unsigned next_to_clean;
    unsigned used;
};

struct device {
    spinlock lock;
    struct ring transmit;
    struct queue backlog;
    unsigned causes;
    unsigned link_up : 1;
    unsigned loopback : 1;
    unsigned filters : 3;
    unsigned : 0;
    union address own;
    union address multicast[MULTICAST];
    struct {
        unsigned packets;
        unsigned bytes;
        unsigned dropped;
        unsigned resets;
    } statistics;
};

static struct device card;

/* ---- addresses ---------------------------------------------------------------------------------------------------------- */

static int same_address(const union address *a, const union address *b) {
    if (a->parts.high != b->parts.high)
        return 0;
    for (int i = 0; i < 4; i++)
        if (a->parts.low[i] != b->parts.low[i])
            return 0;
    return 1;
}

static int is_multicast(const union address *a) {
    return a->bytes[0] & 1;
}

/* ---- the ring ------------------------------------------------------------------------------------------------------------- */

static unsigned descriptors_free(const struct ring *r) {
    return DESCRIPTORS - r->used;
}

static unsigned following(unsigned i) {
    return (i + 1) % DESCRIPTORS;
}

/* With the lock held: gives a packet to the card. */
static void put_packet(struct device *d, struct request *r) {
    struct descriptor *t = &d->transmit.descriptors[d->transmit.next_to_use];
    /* What the card has is not ours to write. */
    assert(!t->owned_by_card && !t->request);
    t->length = r->length;
    t->last = 1;
    t->checksum = r->code & 1;
    t->done = 0;
    t->request = r;
    t->owned_by_card = 1;
    d->transmit.next_to_use = following(d->transmit.next_to_use);
    d->transmit.used++;
}

/* With the lock held: the oldest packet, if the card has sent it. */
static struct request *clean_packet(struct device *d) {
    struct descriptor *t = &d->transmit.descriptors[d->transmit.next_to_clean];
    struct request *r = t->request;
    if (!r || !t->done)
        return NULL;
    d->statistics.packets++;
    d->statistics.bytes += t->length;
    t->request = NULL;
    t->done = 0;
    d->transmit.next_to_clean = following(d->transmit.next_to_clean);
    d->transmit.used--;
    return r;
}

/* What the card does: it sends all that it was given. */
static void card_runs(struct device *d) {
    for (unsigned i = 0; i < DESCRIPTORS; i++) {
        struct descriptor *t = &d->transmit.descriptors[i];
        if (t->owned_by_card) {
            t->owned_by_card = 0;
            t->done = 1;
            d->causes |= CAUSE_SENT;
        }
    }
}

/* ---- interrupts --------------------------------------------------------------------------------------------------------------- */

static void sent_deferred(void *context) {
    struct device *d = context;
    struct request *r;
    do {
        lock_acquire(&d->lock);
        r = clean_packet(d);
        if (!r && d->backlog.length && descriptors_free(&d->transmit))
            put_packet(d, queue_pop(&d->backlog));
        lock_release(&d->lock);
        if (r)
            request_complete(r, STATUS_SUCCESS);
    } while (r);
}

static void interrupt(void *context) {
    struct device *d = context;
    unsigned causes;
    lock_acquire(&d->lock);
    card_runs(d);
    causes = d->causes;
    d->causes = 0;
    if (causes & CAUSE_LINK)
        d->link_up = !d->link_up;
    lock_release(&d->lock);
    if (causes & CAUSE_SENT)
        fabius_post_at(DISPATCH_LEVEL, sent_deferred, d);
}

/* ---- the watchdog ---------------------------------------------------------------------------------------------------------------- */

/* With the lock held: takes one packet away from the card. */
static struct request *take_back(struct device *d) {
    struct descriptor *t = &d->transmit.descriptors[d->transmit.next_to_clean];
    struct request *r = t->request;
    if (!r)
        return NULL;
    t->owned_by_card = 0;
    t->done = 0;
    t->request = NULL;
    d->transmit.next_to_clean = following(d->transmit.next_to_clean);
    d->transmit.used--;
    d->statistics.dropped++;
    return r;
}

static void watchdog_deferred(void *context) {
    struct device *d = context;
    struct request *r = NULL;
    lock_acquire(&d->lock);
    if (!d->link_up && d->transmit.used) {
        d->statistics.resets++;
        r = take_back(d);
        d->link_up = 1;
    }
    lock_release(&d->lock);
    if (r)
        request_complete(r, STATUS_NO_DEVICE);
}

/* ---- dispatch routines -------------------------------------------------------------------------------------------------------------- */

static enum status network_send(struct device *d, struct request *r) {
    unsigned room;
    if (r->length == 0 || r->length > PACKET)
        return STATUS_BAD_PARAMETER;
#ifdef FIXED
    lock_acquire(&d->lock);
    room = descriptors_free(&d->transmit);
#else
    room = descriptors_free(&d->transmit);
    lock_acquire(&d->lock);
#endif
    r->pending = 1;
    if (room)
        put_packet(d, r);
    else
        queue_push(&d->backlog, r);
    lock_release(&d->lock);
    return STATUS_PENDING;
}

static enum status set_filter(struct device *d, const union address *a) {
    if (!is_multicast(a))
        return STATUS_BAD_PARAMETER;
    for (unsigned i = 0; i < d->filters; i++)
        if (same_address(&d->multicast[i], a))
            return STATUS_SUCCESS;
    if (d->filters == MULTICAST)
        return STATUS_BUSY;
    d->multicast[d->filters] = *a;
    d->filters++;
    return STATUS_SUCCESS;
}

static enum status network_control(struct device *d, struct request *r) {
    enum status status = STATUS_SUCCESS;
    union address group = { .bytes = { 1, 0, 0x5e } };
    lock_acquire(&d->lock);
    switch (r->code) {
    case CONTROL_MULTICAST:
        status = set_filter(d, &group);
        break;
    case CONTROL_STATISTICS:
        r->done = d->statistics.packets;
        break;
    case CONTROL_LOOPBACK:
        d->loopback = r->length;
        break;
    default:
        status = STATUS_BAD_PARAMETER;
    }
    lock_release(&d->lock);
    return status;
}

static const struct driver driver = {
    .name = "network",
    .major = {
        [MJ_WRITE] = network_send,
        [MJ_CONTROL] = network_control,
    },
};

/* ---- the system ------------------------------------------------------------------------------------------------------------------------ */

static struct request packets[3], multicast;

static void first_processor(void *unused) {
    (void)unused;
    io_call(&driver, &card, &packets[0]);
    io_call(&driver, &card, &packets[1]);
    fabius_post_at(DEVICE_LEVEL, interrupt, &card);
}

static void second_processor(void *unused) {
    (void)unused;
    io_call(&driver, &card, &packets[2]);
    io_call(&driver, &card, &multicast);
    assert(multicast.status == STATUS_SUCCESS && card.filters == 1);
    fabius_post_at(DISPATCH_LEVEL, watchdog_deferred, &card);
}

int main(void) {
    lock_init(&card.lock);
    card.link_up = 1;
    for (int i = 0; i < 3; i++)
        request_init(&packets[i], MJ_WRITE, (unsigned)i, PACKET);
    request_init(&multicast, MJ_CONTROL, CONTROL_MULTICAST, 0);
    fabius_buffer(first_processor, NULL);
    fabius_buffer(second_processor, NULL);
    return 0;
}
