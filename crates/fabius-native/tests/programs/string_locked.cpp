// Strings under a lock, in each thread of its own, and in streams.
// flags: -std=c++17
// expect: verified
// slow: many executions of long texts
#include <cassert>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

static std::string shared = "a text that is long enough for the heap";
static std::mutex lock;

static void work() {
    {
        std::lock_guard<std::mutex> guard(lock);
        shared += "more";
        shared.insert(0, "less").replace(0, 2, "?");
    }
    std::string own = std::to_string(42);
    assert(own + "." == "42." && own.find("2") == 1 && own.compare("42") == 0);
    std::ostringstream out;
    out << own << ' ' << 1.5;
    assert(out.str() == "42 1.5");
    std::istringstream in("7 words");
    int number;
    in >> number >> own;
    assert(number == 7 && own == "words");
}

int main() {
    std::thread other(work);
    work();
    other.join();
    assert(shared.size() == 53);
}
