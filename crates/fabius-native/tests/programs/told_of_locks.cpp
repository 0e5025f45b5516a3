// Locks that ThreadSanitizer is told of order what is done under them.
// expect: verified
#include <atomic>
#include <cassert>
#include <thread>

extern "C" {
void __tsan_mutex_create(void *, unsigned);
void __tsan_mutex_pre_lock(void *, unsigned);
void __tsan_mutex_post_lock(void *, unsigned, int);
int __tsan_mutex_pre_unlock(void *, unsigned);
void __tsan_mutex_post_unlock(void *, unsigned);
void AnnotateHappensBefore(const char *, int, const volatile void *);
void AnnotateHappensAfter(const char *, int, const volatile void *);
}

static std::atomic<int> held, done;
static int count, result;
static void increase() {
    __tsan_mutex_pre_lock(&held, 0);
    while (held.exchange(1, std::memory_order_relaxed))
        std::this_thread::yield();
    __tsan_mutex_post_lock(&held, 0, 0);
    count++;
    __tsan_mutex_pre_unlock(&held, 0);
    held.store(0, std::memory_order_relaxed);
    __tsan_mutex_post_unlock(&held, 0);
}

int main() {
    __tsan_mutex_create(&held, 0);
    std::thread other([] {
        increase();
        result = 3;
        AnnotateHappensBefore(__FILE__, __LINE__, &done);
        done.store(1, std::memory_order_relaxed);
    });
    increase();
    if (done.load(std::memory_order_relaxed)) {
        AnnotateHappensAfter(__FILE__, __LINE__, &done);
        assert(result == 3);
    }
    other.join();
    assert(count == 2);
}
