// Threads before `main` run freely; what they leave is the beginning of every execution.
// expect: verified
#include <cassert>
#include <map>
#include <string>
#include <thread>
static int early;
struct Before {
    Before() { std::thread([] { early++; }).join(); }
};
static Before before;
static std::map<int, std::string> table = {{1, "a string that is too long to be kept in place"}, {2, "two"}};
int main() {
    assert(early == 1 && table.size() == 2);
    early++;
    table[3] = "three, and this is too long to be kept in place as well";
}
