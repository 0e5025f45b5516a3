// A driver: dispatch routines on a processor, a deferred procedure call at a higher level that interrupts them. The
// dispatch routine that frees the request has to take it out of the queue first.
// expect: bug memory cost 0
// expect FIXED=1: verified
#include <assert.h>
#include <stdlib.h>
#include "fabius.h"

enum { DISPATCH_LEVEL = 1 };

struct request {
    int bytes;
};

struct device {
    struct request *pending;
    int done;
};

static struct device device;

static void deferred(void *context) {
    struct device *d = context;
    if (d->pending) {
        d->done += d->pending->bytes;
        d->pending = NULL;
    }
}

static void dispatch_cancel(void *context) {
    struct device *d = context;
    struct request *r = d->pending;
#ifdef FIXED
    d->pending = NULL;
#endif
    if (r)
        free(r);
    fabius_post_at(DISPATCH_LEVEL, deferred, d);
#ifndef FIXED
    d->pending = NULL;
#endif
}

int main(void) {
    device.pending = malloc(sizeof(struct request));
    device.pending->bytes = 3;
    fabius_post(dispatch_cancel, &device);
    return 0;
}
