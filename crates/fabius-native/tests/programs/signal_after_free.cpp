// The condition variable is gone when it is notified.
// flags: -std=c++17
// expect: bug memory 2
#include <condition_variable>
#include <mutex>
#include <thread>

struct Job {
    std::mutex lock;
    std::condition_variable changed;
    bool done = false;
};

int main() {
    Job *job = new Job;
    std::thread worker([job] {
        {
            std::lock_guard<std::mutex> guard(job->lock);
            job->done = true;
        }
        job->changed.notify_one();
    });
    {
        std::unique_lock<std::mutex> guard(job->lock);
        job->changed.wait(guard, [job] { return job->done; });
    }
    delete job;
    worker.join();
}
