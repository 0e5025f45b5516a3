// expect: verified
#include <cassert>
#include <atomic>
#include <thread>
static std::atomic<int> made;
struct Once { Once() { made++; } };
static void use() { static Once once; }
int main() {
    std::thread a(use), b(use);
    a.join();
    b.join();
    assert(made == 1);
}
