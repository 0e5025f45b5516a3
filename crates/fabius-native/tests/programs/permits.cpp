// What was done before a permit was given is known to who got it.
// flags: -std=c++20
// expect: verified
#include <cassert>
#include <semaphore>
#include <thread>
std::counting_semaphore<4> permits(0);
int before;
int main() {
    std::thread other([] {
        permits.acquire();
        assert(before == 1);
    });
    before = 1;
    permits.release();
    other.join();
}
