// expect: verified
#include <string.h>
int main(void) {
    volatile char room[1 << 20];
    memset((void *)room, 1, sizeof room);
    return room[77] != 1;
}
