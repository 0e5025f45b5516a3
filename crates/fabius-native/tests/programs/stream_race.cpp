// Two threads that write to one stream without a lock race; those that write to the standard output do not.
// expect: bug data_race 0
#include <iostream>
#include <sstream>
#include <thread>
static std::ostringstream text;
static void write(int number) {
    std::cout << number << "\n";
    text << number;
}
int main() {
    std::thread other(write, 1);
    write(2);
    other.join();
}
