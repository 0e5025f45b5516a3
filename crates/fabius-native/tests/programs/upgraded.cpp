// Two who read what they then write under another hold of the lock: an update is lost.
// flags: -std=c++20
// expect: bug assertion 1
#include <cassert>
#include <mutex>
#include <shared_mutex>
#include <thread>
std::shared_mutex lock;
int count;
static void add() {
    int seen;
    {
        std::shared_lock held(lock);
        seen = count;
    }
    std::unique_lock held(lock);
    count = seen + 1;
}
int main() {
    std::thread other(add);
    add();
    other.join();
    assert(count == 2);
}
