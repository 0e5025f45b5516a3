// Once, whoever comes first; and again after an exception.
// flags: -std=c++20
// expect: verified
#include <cassert>
#include <mutex>
#include <thread>
std::once_flag flag;
int tries, made;
static void make() {
    try {
        std::call_once(flag, [] {
            if (tries++ == 0) throw 1;
            made++;
        });
    } catch (int) {
    }
}
int main() {
    std::thread other(make);
    make();
    other.join();
    assert(made == 1 && tries == 2);
}
