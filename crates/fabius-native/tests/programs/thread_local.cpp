// Destructors of thread-local variables run at the end of their thread.
// expect: verified
#include <atomic>
#include <cassert>
#include <thread>
static std::atomic<int> ended;
struct Mark {
    int set = 0;
    ~Mark() { ended += set; }
};
static thread_local Mark mark;
int main() {
    std::thread other([] { mark.set = 100; });
    other.join();
    assert(ended == 100);
}
