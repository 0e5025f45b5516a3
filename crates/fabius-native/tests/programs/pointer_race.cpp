// A pointer with a count protects what it points to, not itself.  Whoever reads it may get what is being freed.
// flags: -std=c++20
// expect: bug memory 1
#include <memory>
#include <thread>
std::shared_ptr<int> shared = std::make_shared<int>(1);
int main() {
    std::thread other([] { shared = std::make_shared<int>(2); });
    auto mine = shared;
    other.join();
}
