// Signals that are read from a file.
// expect: unknown not supported: signalfd
#include <signal.h>
#include <sys/signalfd.h>
int main(void) {
    sigset_t all;
    sigfillset(&all);
    signalfd(-1, &all, 0);
}
