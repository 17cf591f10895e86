#include "weights/lookups/profile_log.h"

#include <algorithm>
#include <optional>
#include <string>

#include "core/base/thread_team.h"
#include "neuroshard/error.h"
#include "weights/lookups/popularity_estimate.h"
#include "weights/lookups/profiled_table.h"
#include "weights/lookups/row_counter.h"
#include "weights/lookups/row_history.h"
#include "weights/lookups/sessions.h"

namespace neuroshard {
namespace {

/// Calls `use(file, batch, first, end)` for the lookups of all batches of a table, in order.
template <typename Use>
void for_each_batch(std::span<const AccessData> log, std::size_t table, Use use) {
  for (std::size_t file = 0; file < log.size(); ++file) {
    const AccessData& data = log[file];
    const auto batches = static_cast<std::size_t>(data.batches);
    for (std::size_t batch = 0; batch < batches; ++batch) {
      const std::size_t i = table * batches + batch;
      use(file, batch, data.batch_begin[i], data.batch_begin[i + 1]);
    }
  }
}

/// Profiles table after table; each thread has one.
class LogWorker {
 public:
  LogWorker(std::span<const AccessData> log, const ProfileOptions& options, bool miss_curves)
      : log_(log),
        options_(options),
        history_(miss_curves),
        exact_(RowCounter::Counts::kExact),
        readers_(log.size()),
        block_(kProfileBlock) {
    for (const AccessData& data : log) {
      batches_ += data.batches;
      samples_ += data.batch;
    }
  }

  Table profile(std::size_t table, ProfileProgress& progress) {
    if (!options_.sessions.empty()) return profile_distinct(table, progress);
    std::int64_t lookups = 0;
    std::int64_t batch = 0;
    std::size_t open_file = 0;
    for_each_batch(log_, table,
                   [&](std::size_t file, std::size_t, std::int64_t first, std::int64_t end) {
                     // A compressed file is read on from where the table before has ended.
                     if (file != open_file && !log_[open_file].compressed)
                       readers_[open_file].reset();
                     open_file = file;
                     if (!readers_[file]) readers_[file].emplace(log_[file]);
                     lookups += end - first;
                     for (; first < end; first += kProfileBlock) {
                       const auto part = std::span(block_).first(
                           static_cast<std::size_t>(std::min(kProfileBlock, end - first)));
                       readers_[file]->read(first, part);
                       check_indices(log_[file], table, first, part);
                       history_.add(part);
                       if (options_.row_parts > 0) exact_.add(part);
                       progress.add(part.size());
                     }
                     history_.end_batch(2 * batch++ >= batches_);
                   });
    if (!log_[open_file].compressed) readers_[open_file].reset();
    return counted(lookups);
  }

  [[nodiscard]] MissCurve miss_curve() const { return history_.miss_curve(); }

  void clear() {
    history_.clear();
    exact_.clear();
  }

 private:
  /// Profiles the samples that are left of sessions.
  Table profile_distinct(std::size_t table, ProfileProgress& progress) {
    std::int64_t lookups = 0;
    std::int64_t left = 0;
    std::int64_t count = 0;
    for_each_batch(log_, table,
                   [&](std::size_t file, std::size_t batch, std::int64_t first, std::int64_t end) {
                     const AccessData& data = log_[file];
                     const AccessStream all =
                         read_batch(data, table, static_cast<std::int64_t>(batch));
                     check_indices(data, table, first, all.indices);
                     const auto samples = static_cast<std::size_t>(data.batch / data.batches);
                     const AccessStream distinct = distinct_samples(
                         all, std::span(options_.sessions[file]).subspan(batch * samples, samples));
                     history_.add(distinct.indices);
                     if (options_.row_parts > 0) exact_.add(distinct.indices);
                     history_.end_batch(2 * count++ >= batches_);
                     lookups += static_cast<std::int64_t>(distinct.indices.size());
                     left += static_cast<std::int64_t>(distinct.offsets.size()) - 1;
                     progress.add(static_cast<std::size_t>(end - first));
                   });
    Table profiled = counted(lookups);
    profiled.features = static_cast<double>(left) / static_cast<double>(samples_);
    return profiled;
  }

  [[nodiscard]] Table counted(std::int64_t lookups) const {
    Table profiled =
        profiled_table(history_.largest_row(), lookups, samples_, history_.rows_by_bin());
    profiled.popularity = estimated_popularity(history_.rows_by_touches(), profiled.rows);
    if (options_.row_parts > 0 && lookups > 0) {
      profiled.row_shares = exact_.lookup_shares(profiled.rows, options_.row_parts);
    }
    return profiled;
  }

  std::span<const AccessData> log_;
  const ProfileOptions& options_;
  RowHistory history_;
  RowCounter exact_;
  std::vector<std::optional<IndexReader>> readers_;  ///< [files]
  std::vector<std::int64_t> block_;
  std::int64_t batches_ = 0;
  std::int64_t samples_ = 0;
};

}  // namespace

std::int64_t batch_of_log(std::span<const AccessData> log) {
  const AccessData& first = log.front();
  const std::int64_t batch = first.batch / first.batches;
  for (const AccessData& data : log) {
    const auto differs = [&](std::int64_t number, const char* what, std::int64_t of_first) {
      if (number == of_first) return;
      throw Error(data.path.string() + ": has " + what + " " + std::to_string(number) + ", but " +
                  first.path.string() + " " + std::to_string(of_first) +
                  "; give files of the same tables and of equal batches");
    };
    differs(static_cast<std::int64_t>(data.tables()),
            "tables:", static_cast<std::int64_t>(first.tables()));
    differs(data.batch / data.batches, "samples of a batch:", batch);
  }
  return batch;
}

LogProfile profile_log(std::span<const AccessData> log, const ProfileOptions& options,
                       bool miss_curves) {
  require_row_parts(options);
  (void)batch_of_log(log);
  LogProfile profile;
  const std::size_t tables = log.front().tables();
  profile.tables.resize(tables);
  if (miss_curves) profile.miss_curves.resize(tables);
  ProfileProgress progress(options);
  const bool compressed = std::ranges::any_of(log, &AccessData::compressed);
  ThreadTeam team(compressed ? 1 : options.threads);
  std::vector<std::optional<LogWorker>> workers(team.threads());
  team.run(tables, [&](std::size_t t, std::size_t thread) {
    std::optional<LogWorker>& worker = workers[thread];
    if (!worker) worker.emplace(log, options, miss_curves);
    profile.tables[t] = worker->profile(t, progress);
    if (miss_curves) profile.miss_curves[t] = worker->miss_curve();
    worker->clear();
  });
  return profile;
}

}  // namespace neuroshard
