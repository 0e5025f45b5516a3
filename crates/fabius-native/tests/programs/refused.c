// What cannot be done under control ends the search, and the answer says what it was.
// expect: unknown not supported: msgget
#include <sys/ipc.h>
#include <sys/msg.h>
int main(void) { return msgget(IPC_PRIVATE, 0600) < 0; }
