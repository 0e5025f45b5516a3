// A condition that is waited for with a predicate, and one that is waited for with a time limit.
// flags: -std=c++20
// expect: bug assertion 0
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
std::mutex lock;
std::condition_variable changed;
bool ready;
int main() {
    std::thread other([] {
        std::lock_guard held(lock);
        ready = true;
        changed.notify_one();
    });
    std::unique_lock held(lock);
    bool in_time = changed.wait_for(held, std::chrono::seconds(1), [] { return ready; });
    held.unlock();
    other.join();
    assert(in_time);
}
