/* Figure 10: two task buffers that take turns; each adds one to x when it is its turn. */
#ifndef N
#define N 3
#endif
int x = 0;

active proctype even() {
    int i = 0;
    int t;
    do
    :: x == 2 * i;
        t = x;
        x = t + 1;
        i++
    :: break
    od
}

active proctype odd() {
    int j = 0;
    int t;
    do
    :: x == 2 * j + 1;
        t = x;
        x = t + 1;
        j++;
        assert(x != 2 * N)
    :: break
    od
}
