// flags: -std=c++20
// expect: verified
// Trees and lists that are used under a lock, from every side.
#include <cassert>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <thread>

std::mutex lock;
std::map<int, int> numbers;
std::set<int> seen;
std::list<int> order;

void work(int from) {
    for (int key = from; key < 8; key += 2) {
        std::lock_guard guard(lock);
        numbers[key] = key;
        seen.insert(8 - key);
        order.push_back(key);
        order.push_front(-key);
    }
    std::lock_guard guard(lock);
    int sum = 0;
    for (auto [key, value] : numbers) sum += key - value;
    for (auto i = seen.rbegin(); i != seen.rend(); ++i) sum += *i - *i;
    assert(sum == 0);
    numbers.erase(from);
    seen.erase(8 - from);
    order.remove(from);
}

int main() {
    std::thread other(work, 1);
    work(0);
    other.join();
    assert(numbers.size() == 6 && seen.size() == 6);
}
