// expect: unknown not supported: poll
#include <poll.h>
int main(void) { return poll(0, 0, 1) > 0; }
