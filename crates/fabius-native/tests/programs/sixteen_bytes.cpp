// Atomics of sixteen bytes, a value with a counter: who stores without comparing overwrites what came in between.
// flags: -mcx16 -latomic
// expect: bug assertion 1
#include <atomic>
#include <cassert>
#include <thread>
struct alignas(16) Tagged {
    long value, count;
};
static std::atomic<Tagged> top;
static void push(long value) {
    Tagged old = top.load();
    while (!top.compare_exchange_weak(old, Tagged{value, old.count + 1})) {}
}
int main() {
    std::thread other(push, 1);
    Tagged old = top.load();
    top.store(Tagged{2, old.count + 1});
    other.join();
    assert(top.load().count == 2);
}
