// Threads use what is on the stacks of others and their thread-local variables, while these are there.
// flags: -std=c++20
// expect: verified
// slow: many executions, each of them a process
#include <atomic>
#include <cassert>
#include <pthread.h>
#include <thread>
static int ended;
struct Counts {
    int n = 0;
    ~Counts() { ended += n; }
};
static thread_local Counts counts;
static pthread_key_t key;
static void counts_too(void *at) { ++*static_cast<int *>(at); }
static void cleans(void *at) { ++*static_cast<int *>(at); }
// What its children use is theirs until they are joined.
static void *parent(void *given) {
    int sum = 0;
    std::thread child([&] { sum = ++counts.n; });
    child.join();
    assert(sum == 1);
    counts.n = sum;
    pthread_setspecific(key, &counts.n);
    static_cast<int *>(given)[0] += sum;
    pthread_cleanup_push(cleans, &sum);
    pthread_exit(&ended);
    pthread_cleanup_pop(0);
}
// Somebody else writes here as the last thing that it waits for.
static std::atomic<std::atomic<int> *> here;
static void *waits(void *unused) {
    std::atomic<int> flag{0};
    here = &flag;
    here.notify_one();
    flag.wait(0);
    return unused;
}
int main() {
    pthread_key_create(&key, counts_too);
    int given = 0;
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        pthread_create(&thread, 0, parent, &given);
        pthread_join(thread, 0);
    }
    assert(given == 2 && ended >= 2);
    pthread_t thread;
    pthread_create(&thread, 0, waits, 0);
    here.wait(nullptr);
    std::atomic<int> *flag = here;
    *flag = 1;
    flag->notify_one();
    pthread_join(thread, 0);
}
