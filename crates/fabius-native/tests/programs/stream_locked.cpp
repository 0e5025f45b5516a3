// Threads that take turns with a stream do not race.
// expect: verified
#include <cassert>
#include <iostream>
#include <mutex>
#include <sstream>
#include <thread>
static std::stringstream text;
static std::mutex mutex;
static void write(int number) {
    std::cout << "writes " << number << std::endl;
    std::lock_guard<std::mutex> lock(mutex);
    text << number << ' ';
}
int main() {
    std::thread other(write, 1);
    write(2);
    other.join();
    int one = 0, two = 0;
    text >> one >> two;
    assert(one + two == 3 && text.str().size() == 4);
}
