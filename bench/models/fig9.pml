/* Figure 9: foo posts bar, which interrupts it at once, and then itself again. One task buffer: one process does it all. */
#ifndef N
#define N 3
#endif
int x = 0;
bool cont = true;

active proctype cpu() {
    int t;
    do
    :: cont ->
        cont = false;
        t = x;
        x = t + 1;
        assert(x != N);
        if
        :: cont = true
        :: skip
        fi
    :: break
    od
}
