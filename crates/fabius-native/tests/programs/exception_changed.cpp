// flags: -std=c++20
// expect: bug data_race 0
// What both threads do with the exception that they hold is ordered by nothing.
#include <exception>
#include <thread>

struct trouble {
    int number;
};

int main() {
    std::exception_ptr first = std::make_exception_ptr(trouble{1});
    std::thread other([second = first] {
        try {
            std::rethrow_exception(second);
        } catch (trouble &e) {
            e.number = 2;
        }
    });
    try {
        std::rethrow_exception(first);
    } catch (trouble &e) {
        e.number = 3;
    }
    other.join();
}
