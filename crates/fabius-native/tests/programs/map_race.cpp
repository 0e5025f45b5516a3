// flags: -std=c++20
// expect: bug data_race 0
// An element is looked for without the lock under which another one is put in: the C++ library does that outside of its headers.
#include <cassert>
#include <map>
#include <mutex>
#include <thread>

std::mutex lock;
std::map<int, int> numbers;

void put(int key) {
    std::lock_guard guard(lock);
    numbers[key] = key;
}

int main() {
    put(1);
    std::thread other(put, 2);
    assert(numbers.count(5) == 0);
    other.join();
}
