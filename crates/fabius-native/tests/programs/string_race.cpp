// A string grows while another thread copies it: a race, though both are functions of the C++ library.
// flags: -std=c++17
// expect: bug data_race 0
#include <string>
#include <thread>

static std::string text = "short";

int main() {
    std::thread other([] { text.push_back('.'); });
    std::string copy(text);
    other.join();
    return copy.size();
}
