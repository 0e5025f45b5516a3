// What cannot be done under control ends the search, and the answer says what it was.
// expect: unknown not supported: alarm
#include <unistd.h>
int main(void) { return alarm(1) > 0; }
