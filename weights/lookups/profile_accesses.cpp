#include "weights/lookups/profile_accesses.h"

#include <algorithm>
#include <future>
#include <optional>
#include <span>
#include <vector>

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

// One thread reads (and unpacks) the next block while another counts.
void profile_in_order(const AccessData& data, const ProfileOptions& options,
                      ProfileProgress& progress, std::vector<Table>& tables) {
  IndexReader reader(data);
  const auto read = [&](std::int64_t first) {
    std::vector<std::int64_t> indices(
        static_cast<std::size_t>(std::min(kProfileBlock, data.lookups() - first)));
    reader.read(first, indices);
    return indices;
  };
  std::future<std::vector<std::int64_t>> next = std::async(std::launch::async, read, 0);
  std::vector<std::int64_t> block;
  std::span<const std::int64_t> left;  // The rest of the block.
  std::int64_t end_of_block = 0;
  RowCounter counter = counter_for(options);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const std::int64_t end = data.table_begin[t + 1];
    for (std::int64_t first = data.table_begin[t]; first < end;) {
      if (left.empty()) {
        left = block = next.get();
        end_of_block += static_cast<std::int64_t>(block.size());
        if (end_of_block < data.lookups()) {
          next = std::async(std::launch::async, read, end_of_block);
        }
      }
      const auto part = left.first(std::min(left.size(), static_cast<std::size_t>(end - first)));
      left = left.subspan(part.size());
      check_indices(data, t, first, part);
      counter.add(part);
      progress.add(part.size());
      first += static_cast<std::int64_t>(part.size());
    }
    tables[t] = table_of(counter, end - data.table_begin[t], data.batch, options.row_parts);
    counter.clear();
  }
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
