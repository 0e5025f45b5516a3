// Threads, locks and futures of C++.
// expect: verified
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
static std::mutex mutex;
static std::condition_variable ready;
static bool is_ready;
int main() {
    auto shared = std::make_shared<int>(5);
    std::thread other([shared] {
        std::lock_guard<std::mutex> guard(mutex);
        is_ready = true;
        ready.notify_one();
    });
    {
        std::unique_lock<std::mutex> guard(mutex);
        ready.wait(guard, [] { return is_ready; });
    }
    other.join();
    assert(shared.use_count() == 1);
}
