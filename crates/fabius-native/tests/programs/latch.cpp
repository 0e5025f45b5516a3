// What was done before a latch was counted down is known to who has waited for it.
// flags: -std=c++20
// expect: verified
#include <cassert>
#include <latch>
#include <thread>
std::latch latch(1);
int before;
int main() {
    std::thread other([] {
        before = 1;
        latch.count_down();
    });
    latch.wait();
    assert(before == 1);
    other.join();
}
