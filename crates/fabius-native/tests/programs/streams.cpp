// Streams and locales of C++ are as at the beginning of every execution.
// expect: verified
// slow: many executions of long texts
#include <cassert>
#include <iostream>
#include <sstream>
#include <thread>
static void write_and_read() {
    std::ostringstream written;
    written << 3.25 << " " << 12345;
    assert(written.str() == "3.25 12345");
    std::cout << written.str() << std::endl;
    double number;
    std::istringstream("2.5") >> number;
    assert(number == 2.5);
}
int main() {
    assert(std::cout.precision() == 6);
    std::cout.precision(3);
    std::thread a(write_and_read), b(write_and_read);
    a.join();
    b.join();
}
