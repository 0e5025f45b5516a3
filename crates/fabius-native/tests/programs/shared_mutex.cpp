// Readers exclude writers.
// flags: -std=c++20
// expect: verified
#include <cassert>
#include <mutex>
#include <shared_mutex>
#include <thread>
std::shared_mutex lock;
int a, b;
int main() {
    std::thread writer([] {
        std::unique_lock held(lock);
        a = 1;
        b = 1;
    });
    {
        std::shared_lock held(lock);
        assert(a == b);
    }
    writer.join();
}
