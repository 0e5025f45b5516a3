// A list is turned around, by a function of the C++ library alone, while another thread walks along it.
// flags: -std=c++17
// expect: bug data_race 0
#include <list>
#include <thread>

int main() {
    std::list<int> numbers{1, 2, 3};
    std::thread other([&] { numbers.reverse(); });
    int sum = 0;
    for (int number : numbers) sum += number;
    other.join();
    return sum;
}
