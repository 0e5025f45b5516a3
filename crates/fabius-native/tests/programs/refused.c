// What cannot be done under control ends the search, and the answer says what it was.
// expect: unknown not supported: timerfd_create
#include <sys/timerfd.h>
int main(void) { return timerfd_create(0, 0) < 0; }
