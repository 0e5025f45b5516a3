// Exceptions under way are the thread's own.
// expect: verified
#include <atomic>
#include <cassert>
#include <exception>
#include <pthread.h>
#include <stdexcept>
#include <string>
static std::atomic<int> step;
static void *run(void *argument) {
    const char *name = argument ? "first" : "second";
    try {
        step++;
        throw std::runtime_error(std::string("from the ") + name);
    } catch (std::exception &e) {
        step++;
        assert(std::string(e.what()) == std::string("from the ") + name);
        assert(std::current_exception() != nullptr);
    }
    assert(std::uncaught_exceptions() == 0);
    return nullptr;
}
int main() {
    pthread_t a, b;
    pthread_create(&a, nullptr, run, &step);
    pthread_create(&b, nullptr, run, nullptr);
    pthread_join(a, nullptr);
    pthread_join(b, nullptr);
}
