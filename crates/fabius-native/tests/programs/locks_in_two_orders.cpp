// flags: -std=c++20
// Locks that are taken together, in two orders: who cannot have all gives back what it has, so there is no deadlock, and however
// often that happens nothing new comes of it.
// expect: verified
#include <cassert>
#include <mutex>
#include <thread>

std::mutex a, b;
int count;

int main() {
    std::thread thread([] {
        std::scoped_lock both(a, b);
        count++;
    });
    {
        std::scoped_lock both(b, a);
        count++;
    }
    thread.join();
    assert(count == 2);
}
