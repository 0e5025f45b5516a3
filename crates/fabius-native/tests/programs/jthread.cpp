// A thread that is asked to stop, and joined when it goes out of scope.
// flags: -std=c++20
// expect: verified
#include <atomic>
#include <cassert>
#include <thread>
std::atomic<int> rounds{0};
int main() {
    {
        std::jthread worker([](std::stop_token stop) {
            while (!stop.stop_requested()) std::this_thread::yield();
            rounds = 1;
        });
        worker.request_stop();
    }
    assert(rounds == 1);
}
