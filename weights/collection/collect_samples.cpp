#include "weights/collection/collect_samples.h"

#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace neuroshard {
namespace {

// Work of the sources' threads. They run at most this far ahead of the log.
constexpr std::uint64_t kMaxAhead = 256;

class ComputeQueue {
 public:
  ComputeQueue(std::span<const Table> tables, const ComputeDrawOptions& options,
               const CollectionRun& run, std::uint64_t first)
      : tables_(tables), options_(options), run_(run), next_(first), logged_(first) {}

  // Runs on a source's thread.
  void serve(ComputeCostSource& source) {
    try {
      while (true) {
        std::uint64_t sample = 0;
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&] { return closed_ || next_ < logged_ + kMaxAhead; });
          if (closed_ || next_ >= run_.samples) break;
          sample = next_++;
        }
        Random random(run_.seed, sample);
        const std::vector<int> ids = draw_shard(tables_, options_, random);
        std::optional<std::int64_t> served;
        if (options_.samples != ComputeDrawOptions::Samples::kOfBatch) {
          served = draw_served_samples(options_.samples, random);
          source.serve(*served);
        }
        std::string line = compute_sample_line(ids, source.cost_ms(ids), served);
        const std::scoped_lock lock(mutex_);
        done_.emplace(sample, std::move(line));
        changed_.notify_all();
      }
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    const std::scoped_lock lock(mutex_);
    closed_ = closed_ || failure_ != nullptr;
    ++finished_;
    changed_.notify_all();
  }

  // Runs on the calling thread: logs in order until all is logged or a source has failed.
  void log_results(SampleLog& log, std::size_t sources) {
    std::unique_lock lock(mutex_);
    while (logged_ < run_.samples) {
      changed_.wait(lock, [&] { return done_.contains(logged_) || finished_ == sources; });
      const auto found = done_.find(logged_);
      if (found == done_.end()) break;
      const std::string line = std::move(found->second);
      done_.erase(found);
      lock.unlock();
      log.append(line);
      if (run_.progress) run_.progress(log.size());
      const bool stop = run_.should_stop && run_.should_stop();
      lock.lock();
      ++logged_;
      if (stop) break;
      changed_.notify_all();
    }
  }

  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  void rethrow_failure() {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::span<const Table> tables_;
  const ComputeDrawOptions& options_;
  const CollectionRun& run_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_;    // The next sample to be drawn.
  std::uint64_t logged_;  // All before it are in the log.
  std::map<std::uint64_t, std::string> done_;
  std::size_t finished_ = 0;
  bool closed_ = false;
  std::exception_ptr failure_;
};

}  // namespace

void collect_compute_samples(std::span<const std::unique_ptr<ComputeCostSource>> sources,
                             std::span<const Table> tables, const ComputeDrawOptions& options,
                             const CollectionRun& run, SampleLog& log) {
  ComputeQueue queue(tables, options, run, log.size());
  std::vector<std::jthread> threads;
  struct CloseAtEnd {
    ComputeQueue& queue;
    ~CloseAtEnd() { queue.close(); }
  };
  {
    // Destroyed before the threads, which it lets end, whatever happens here.
    const CloseAtEnd close{queue};
    for (const auto& source : sources) {
      threads.emplace_back([&queue, &source] { queue.serve(*source); });
    }
    queue.log_results(log, sources.size());
  }
  threads.clear();
  queue.rethrow_failure();
}

void collect_comm_samples(CommCostSource& source, const CommDrawOptions& options,
                          const CollectionRun& run, SampleLog& log) {
  while (log.size() < run.samples && !(run.should_stop && run.should_stop())) {
    Random random(run.seed, log.size());
    const CommDraw draw = draw_comm(options, random);
    const CommCost cost = source.cost(draw);
    log.append(
        comm_sample_line(draw.dim_sums, draw.start_offsets_ms, cost.forward_ms, cost.backward_ms));
    if (run.progress) run.progress(log.size());
  }
}

CommSamples drawn_comm_samples(CommCostSource& source, const CommDrawOptions& options,
                               std::size_t count, std::uint64_t seed) {
  CommSamples samples;
  samples.devices = options.devices;
  for (std::size_t i = 0; i < count; ++i) {
    Random random(seed, i);
    const CommDraw draw = draw_comm(options, random);
    const CommCost cost = source.cost(draw);
    for (std::size_t d = 0; d < draw.dim_sums.size(); ++d) {
      samples.dim_sums.push_back(draw.dim_sums[d]);
      samples.start_offsets_ms.push_back(static_cast<float>(draw.start_offsets_ms[d]));
      samples.forward_ms.push_back(static_cast<float>(cost.forward_ms[d]));
      samples.backward_ms.push_back(static_cast<float>(cost.backward_ms[d]));
    }
  }
  return samples;
}

}  // namespace neuroshard
