// flags: -std=c++20
// expect: verified
// Both threads hold the exception; the C++ library counts them, and the last one destroys it.
#include <cassert>
#include <exception>
#include <future>
#include <string>
#include <thread>

struct trouble {
    std::string what;
};

int main() {
    std::future<int> value = std::async(std::launch::async, []() -> int { throw trouble{std::string(40, 'x')}; });
    bool seen = false;
    try {
        value.get();
    } catch (const trouble &e) {
        seen = e.what.size() == 40 && e.what[3] == 'x';
    }
    assert(seen);
    std::exception_ptr first;
    std::thread thread([&] {
        try {
            throw trouble{std::string(50, 'y')};
        } catch (...) {
            first = std::current_exception();
        }
    });
    thread.join();
    std::thread other([second = first] {
        try {
            std::rethrow_exception(second);
        } catch (const trouble &e) {
            assert(e.what[1] == 'y');
        }
    });
    try {
        std::rethrow_exception(first);
    } catch (const trouble &e) {
        assert(e.what.size() == 50);
    }
    first = nullptr;
    other.join();
}
