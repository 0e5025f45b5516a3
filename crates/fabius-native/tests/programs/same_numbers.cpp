// Addresses, hashes of them, random numbers, times and numbers of processes are the same in every execution and process.
// expect: bug assertion 1
#include <cassert>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <unordered_set>
static std::mutex lock;
static int counts[64], order;
static void count(void *block) {
    int own;
    for (long number : {(long)block >> 4, (long)rand(), (long)time(nullptr), (long)getpid(), (long)&own >> 4}) {
        std::lock_guard<std::mutex> guard(lock);
        counts[number & 63] += ++order;
    }
}
int main() {
    std::unordered_set<void *> blocks;
    for (int i = 0; i < 20; i++) blocks.insert(malloc(20));
    std::thread thread(count, malloc(33));
    for (void *block : blocks) {
        std::lock_guard<std::mutex> guard(lock);
        counts[(long)block >> 4 & 63] += ++order;
    }
    thread.join();
    assert(order == 25 && counts[(long)&counts >> 4 & 63] >= 0);
    std::thread late([] { std::lock_guard<std::mutex> guard(lock); order = 0; });
    bool is_early = (std::lock_guard<std::mutex>(lock), order == 0);
    late.join();
    assert(!is_early);
}
