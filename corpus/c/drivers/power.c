// A device that goes to sleep when nobody uses it. Requests that come while it sleeps wait until a deferred procedure call has
// woken it up; a timer puts it to sleep when it has been idle. Each use is counted. The race: the timer looks at the count of uses
// and turns the device off later, in a second step; a request that comes between finds a device that is on, and uses one that is off.
// expect: bug assertion within 2 delays
// expect FIXED=1: no bug within 2 delays
#include "kernel.h"

enum power { POWER_ON, POWER_GOING_DOWN, POWER_OFF, POWER_COMING_UP };
enum { CONTROL_POLICY = 1, CONTROL_STATE = 2, CONTROL_CALIBRATE = 3 };
enum { COMMAND_IDLE, COMMAND_SAMPLE, COMMAND_CALIBRATE };
enum { SAMPLES = 2, IDLE_TICKS = 1 };

struct policy {
    unsigned enabled : 1;
    unsigned wake_on_use : 1;
    unsigned ticks : 6;
};

/* The register of the converter: one word for the bus, a sample and flags for us. */
union converter {
    unsigned word;
    struct {
        short sample;
        unsigned char command;
        unsigned char ready;
    } part;
};

struct device {
    spinlock lock;
    enum power power;
    int uses;
    int idle_ticks;
    struct queue waiting;
    struct policy policy;
    union converter converter;
    short samples[SAMPLES];
    unsigned taken;
    short offset;
    struct {
        unsigned ups;
        unsigned downs;
        unsigned requests;
    } count;
};

static struct device sensor;

/* ---- the hardware ------------------------------------------------------------------------------------------------------- */

/* A register of a device that is off is not to be touched. */
static void command(struct device *d, unsigned char what) {
    assert(d->power == POWER_ON);
    d->converter.part.ready = 0;
    d->converter.part.command = what;
}

static void convert(struct device *d) {
    union converter c = d->converter;
    switch (c.part.command) {
    case COMMAND_SAMPLE:
        c.part.sample = (short)(-5 * (int)(d->taken + 1));
        break;
    case COMMAND_CALIBRATE:
        c.part.sample = -1;
        break;
    default:
        return;
    }
    c.part.ready = 1;
    d->converter.word = c.word;
}

/* ---- use -------------------------------------------------------------------------------------------------------------------- */

/* With the lock held. */
static void begin_use(struct device *d) {
    d->uses++;
    d->idle_ticks = 0;
}

static void end_use(struct device *d) {
    lock_acquire(&d->lock);
    d->uses--;
    assert(d->uses >= 0);
    lock_release(&d->lock);
}

static enum status work(struct device *d, struct request *r) {
    switch (r->major) {
    case MJ_READ:
        command(d, COMMAND_SAMPLE);
        convert(d);
        if (!d->converter.part.ready)
            return STATUS_TIMEOUT;
        d->samples[d->taken++ % SAMPLES] = (short)(d->converter.part.sample - d->offset);
        r->done = r->length;
        return STATUS_SUCCESS;
    case MJ_CONTROL:
        command(d, COMMAND_CALIBRATE);
        convert(d);
        d->offset = d->converter.part.sample;
        return STATUS_SUCCESS;
    default:
        return STATUS_BAD_PARAMETER;
    }
}

/* ---- up and down --------------------------------------------------------------------------------------------------------------- */

/* At dispatch level: the device has power again, and those who wait are served. */
static void up_deferred(void *context) {
    struct device *d = context;
    struct request *r;
    lock_acquire(&d->lock);
    if (d->power == POWER_COMING_UP) {
        d->power = POWER_ON;
        d->converter.word = 0;
        d->count.ups++;
    }
    lock_release(&d->lock);
    do {
        lock_acquire(&d->lock);
        r = d->power == POWER_ON ? queue_pop(&d->waiting) : NULL;
        if (r)
            begin_use(d);
        lock_release(&d->lock);
        if (r) {
            enum status status = work(d, r);
            end_use(d);
            request_complete(r, status);
        }
    } while (r);
}

static void interrupt(void *context) {
    fabius_post_at(DISPATCH_LEVEL, up_deferred, context);
}

/* With the lock held. */
static void turn_off(struct device *d) {
    assert(d->uses == 0);
    d->converter.word = 0;
    d->power = POWER_OFF;
    d->count.downs++;
}

/* At dispatch level, each second. */
static void timer_deferred(void *context) {
    struct device *d = context;
#ifdef FIXED
    lock_acquire(&d->lock);
    if (d->policy.enabled && d->power == POWER_ON && d->uses == 0) {
        if (++d->idle_ticks >= d->policy.ticks) {
            d->power = POWER_GOING_DOWN;
            turn_off(d);
        }
    }
    lock_release(&d->lock);
#else
    int down = 0;
    lock_acquire(&d->lock);
    if (d->policy.enabled && d->power == POWER_ON && d->uses == 0)
        down = ++d->idle_ticks >= d->policy.ticks;
    lock_release(&d->lock);
    if (down) {
        lock_acquire(&d->lock);
        d->power = POWER_GOING_DOWN;
        turn_off(d);
        lock_release(&d->lock);
    }
#endif
}

/* ---- dispatch routines ------------------------------------------------------------------------------------------------------------- */

/* Serves a request now, or when the device has been woken up. */
static enum status serve(struct device *d, struct request *r) {
    enum status status;
    int wake = 0;
    lock_acquire(&d->lock);
    d->count.requests++;
    if (d->power != POWER_ON) {
        if (!d->policy.wake_on_use) {
            lock_release(&d->lock);
            return STATUS_NO_DEVICE;
        }
        r->pending = 1;
        queue_push(&d->waiting, r);
        if (d->power == POWER_OFF) {
            d->power = POWER_COMING_UP;
            wake = 1;
        }
        lock_release(&d->lock);
        if (wake)
            fabius_post_at(DEVICE_LEVEL, interrupt, d);
        return STATUS_PENDING;
    }
    begin_use(d);
    lock_release(&d->lock);
    status = work(d, r);
    end_use(d);
    return status;
}

static enum status sensor_read(struct device *d, struct request *r) {
    if (r->length != sizeof(short))
        return STATUS_BAD_PARAMETER;
    return serve(d, r);
}

static enum status sensor_control(struct device *d, struct request *r) {
    enum status status = STATUS_SUCCESS;
    switch (r->code) {
    case CONTROL_POLICY:
        lock_acquire(&d->lock);
        d->policy.enabled = r->length != 0;
        d->policy.wake_on_use = 1;
        d->policy.ticks = r->length;
        if (d->policy.ticks != r->length)
            status = STATUS_BAD_PARAMETER;
        lock_release(&d->lock);
        return status;
    case CONTROL_STATE:
        lock_acquire(&d->lock);
        r->done = d->power;
        lock_release(&d->lock);
        return STATUS_SUCCESS;
    case CONTROL_CALIBRATE:
        return serve(d, r);
    default:
        return STATUS_BAD_PARAMETER;
    }
}

static const struct driver driver = {
    .name = "sensor",
    .major = {
        [MJ_READ] = sensor_read,
        [MJ_CONTROL] = sensor_control,
    },
};

/* ---- the system ------------------------------------------------------------------------------------------------------------------------ */

static struct request policy, calibrate, read_request, state;

/* One processor has the timer. */
static void first_processor(void *unused) {
    (void)unused;
    io_call(&driver, &sensor, &state);
    fabius_post_at(DISPATCH_LEVEL, timer_deferred, &sensor);
}

static void second_processor(void *unused) {
    (void)unused;
    io_call(&driver, &sensor, &calibrate);
    io_call(&driver, &sensor, &read_request);
}

int main(void) {
    lock_init(&sensor.lock);
    sensor.power = POWER_ON;
    request_init(&policy, MJ_CONTROL, CONTROL_POLICY, IDLE_TICKS);
    request_init(&calibrate, MJ_CONTROL, CONTROL_CALIBRATE, 0);
    request_init(&read_request, MJ_READ, 0, sizeof(short));
    request_init(&state, MJ_CONTROL, CONTROL_STATE, 0);
    io_call(&driver, &sensor, &policy);
    fabius_buffer(first_processor, NULL);
    fabius_buffer(second_processor, NULL);
    return 0;
}
