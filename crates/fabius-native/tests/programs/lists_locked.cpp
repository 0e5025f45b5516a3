// Lists are joined, turned, sorted and exchanged, and a tree is walked backwards, under a lock or by readers alone.
// flags: -std=c++17
// expect: verified
#include <cassert>
#include <list>
#include <mutex>
#include <set>
#include <thread>

static std::list<int> one{5, 1, 4}, other{2, 3}, none;
static const std::set<int> numbers{1, 2, 3, 4, 5, 6, 7};
static std::mutex lock;

static void work() {
    int sum = 0;
    for (auto at = numbers.rbegin(); at != numbers.rend(); ++at) sum += *at;
    assert(sum == 28);
    std::lock_guard<std::mutex> guard(lock);
    one.splice(one.begin(), other);
    one.sort();
    one.reverse();
    one.swap(none);
    none.swap(other);
    one.swap(other);
}

int main() {
    std::thread thread(work);
    work();
    thread.join();
    assert(one.size() + other.size() + none.size() == 5);
}
