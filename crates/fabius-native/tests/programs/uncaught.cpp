// expect: bug crash 0
#include <pthread.h>
#include <stdexcept>
static void *run(void *) { throw std::runtime_error("nobody catches this"); }
int main() {
    pthread_t thread;
    pthread_create(&thread, nullptr, run, nullptr);
    pthread_join(thread, nullptr);
}
