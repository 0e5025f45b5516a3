// Nobody leaves a barrier before all have come.
// flags: -std=c++20
// expect: verified
#include <barrier>
#include <cassert>
#include <thread>
std::barrier together(2);
int mine, theirs;
int main() {
    std::thread other([] {
        theirs = 1;
        together.arrive_and_wait();
        assert(mine == 1);
    });
    mine = 1;
    together.arrive_and_wait();
    assert(theirs == 1);
    other.join();
}
