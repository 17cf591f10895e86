#include "weights/lookups/profile_accesses.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "core/base/thread_team.h"
#include "weights/lookups/profiled_table.h"
#include "weights/lookups/row_counter.h"

namespace neuroshard {
namespace {

RowCounter counter_for(const ProfileOptions& options) {
  return RowCounter(options.row_parts > 0 ? RowCounter::Counts::kExact
                                          : RowCounter::Counts::kForBins);
}

Table table_of(const RowCounter& counter, std::int64_t lookups, std::int64_t batch, int row_parts) {
  Table table = profiled_table(counter.largest_index(), lookups, batch, counter.rows_by_bin());
  if (row_parts > 0 && lookups > 0) table.row_shares = counter.lookup_shares(table.rows, row_parts);
  return table;
}

// Tables shared out among threads, each with a file position of its own.
void profile_in_parallel(const AccessData& data, const ProfileOptions& options,
                         ProfileProgress& progress, std::vector<Table>& tables) {
  struct Worker {
    Worker(const AccessData& data, const ProfileOptions& options)
        : counter(counter_for(options)), reader(data), block(kProfileBlock) {}
    RowCounter counter;
    IndexReader reader;
    std::vector<std::int64_t> block;
  };
  ThreadTeam team(options.threads);
  std::vector<std::optional<Worker>> workers(team.threads());
  team.run(tables.size(), [&](std::size_t t, std::size_t thread) {
    std::optional<Worker>& worker = workers[thread];
    if (!worker) worker.emplace(data, options);
    const std::int64_t end = data.table_begin[t + 1];
    for (std::int64_t first = data.table_begin[t]; first < end; first += kProfileBlock) {
      const auto part = std::span(worker->block)
                            .first(static_cast<std::size_t>(std::min(kProfileBlock, end - first)));
      worker->reader.read(first, part);
      check_indices(data, t, first, part);
      worker->counter.add(part);
      progress.add(part.size());
    }
    tables[t] = table_of(worker->counter, end - data.table_begin[t], data.batch, options.row_parts);
    worker->counter.clear();
  });
}

// Blocks that one thread reads (and unpacks) while another counts.
class BlockQueue {
 public:
  struct Block {
    std::size_t table = 0;
    std::int64_t first = 0;
    std::vector<std::int64_t> indices;
  };

  // Runs on the reading thread.
  void read_all(const AccessData& data) {
    try {
      IndexReader reader(data);
      for (std::size_t t = 0; t < data.tables(); ++t) {
        const std::int64_t end = data.table_begin[t + 1];
        for (std::int64_t first = data.table_begin[t]; first < end; first += kProfileBlock) {
          Block block{t, first, {}};
          block.indices.resize(static_cast<std::size_t>(std::min(kProfileBlock, end - first)));
          reader.read(first, block.indices);
          if (!push(std::move(block))) return;
        }
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  // False at the end.
  bool pop(Block& block) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || !blocks_.empty(); });
    if (blocks_.empty()) return false;
    block = std::move(blocks_.front());
    blocks_.pop_front();
    changed_.notify_all();
    return true;
  }

  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  // Call when the reading thread has ended.
  void rethrow_failure() {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  static constexpr std::size_t kMostBlocks = 8;

  bool push(Block block) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || blocks_.size() < kMostBlocks; });
    if (closed_) return false;
    blocks_.push_back(std::move(block));
    changed_.notify_all();
    return true;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Block> blocks_;
  bool ended_ = false;
  bool closed_ = false;
  std::exception_ptr failure_;
};

void profile_in_order(const AccessData& data, const ProfileOptions& options,
                      ProfileProgress& progress, std::vector<Table>& tables) {
  BlockQueue queue;
  std::jthread reader([&] { queue.read_all(data); });
  struct CloseAtEnd {
    BlockQueue& queue;
    ~CloseAtEnd() { queue.close(); }
  } close{queue};  // Destroyed before the thread is joined.

  RowCounter counter = counter_for(options);
  std::size_t current = 0;
  const auto finish_tables_before = [&](std::size_t table) {
    for (; current < table; ++current) {
      tables[current] = table_of(counter, data.table_begin[current + 1] - data.table_begin[current],
                                 data.batch, options.row_parts);
      counter.clear();
    }
  };
  for (BlockQueue::Block block; queue.pop(block);) {
    finish_tables_before(block.table);
    check_indices(data, block.table, block.first, block.indices);
    counter.add(block.indices);
    progress.add(block.indices.size());
  }
  reader.join();
  queue.rethrow_failure();
  finish_tables_before(tables.size());
}

}  // namespace

std::vector<Table> profile_accesses(const AccessData& data, const ProfileOptions& options) {
  require_row_parts(options);
  std::vector<Table> tables(data.tables());
  ProfileProgress progress(options);
  if (data.compressed) {
    profile_in_order(data, options, progress, tables);
  } else {
    profile_in_parallel(data, options, progress, tables);
  }
  return tables;
}

}  // namespace neuroshard
