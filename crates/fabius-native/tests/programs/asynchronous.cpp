// An exception crosses from the thread that computes to the one that waits.
// flags: -std=c++20
// expect: verified
#include <cassert>
#include <future>
#include <stdexcept>
static int compute(int n) {
    if (n == 0) throw std::runtime_error("zero");
    return 10 / n;
}
int main() {
    auto good = std::async(std::launch::async, compute, 5);
    auto bad = std::async(std::launch::async, compute, 0);
    bool thrown = false;
    try {
        bad.get();
    } catch (const std::runtime_error &) {
        thrown = true;
    }
    assert(thrown && good.get() == 2);
}
