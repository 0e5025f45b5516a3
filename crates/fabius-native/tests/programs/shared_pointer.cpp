// The last owner frees what others have used.
// flags: -std=c++20
// expect: verified
#include <atomic>
#include <cassert>
#include <memory>
#include <thread>
struct Value {
    std::atomic<int> uses{0};
    ~Value() { uses = -1; }
};
int main() {
    auto value = std::make_shared<Value>();
    std::thread other([mine = value] { assert(mine->uses.fetch_add(1) >= 0); });
    assert(value->uses.fetch_add(1) >= 0);
    value.reset();
    other.join();
}
