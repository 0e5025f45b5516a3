// To wait for an atomic to change, and nobody who says that it has.
// flags: -std=c++20
// expect: bug deadlock 1
#include <atomic>
#include <thread>
std::atomic<int> stage{0};
int main() {
    std::thread other([] { stage.wait(0); });
    stage = 1;
    other.join();
}
