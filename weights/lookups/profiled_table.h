#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>

#include "neuroshard/task.h"
#include "weights/lookups/access_data.h"
#include "weights/lookups/profile_accesses.h"

namespace neuroshard {

/// Indices that are read at a time: 2 MiB.
inline constexpr std::int64_t kProfileBlock = std::int64_t{1} << 18;

/// Throws Error if options.row_parts is out of range.
void require_row_parts(const ProfileOptions& options);

/// Throws Error naming the first of the indices, the table's lookups from `first` on, that no table
/// can have.
void check_indices(const AccessData& data, std::size_t table, std::int64_t first,
                   std::span<const std::int64_t> indices);

/// A table whose largest index that was looked up is `largest_index`, -1 if none was.
[[nodiscard]] Table profiled_table(std::int64_t largest_index, std::int64_t lookups,
                                   std::int64_t samples,
                                   const std::array<std::int64_t, kHistogramBins>& rows_by_bin);

/// Tells options.progress from several threads.
class ProfileProgress {
 public:
  explicit ProfileProgress(const ProfileOptions& options) : options_(options) {}
  void add(std::size_t lookups);

 private:
  const ProfileOptions& options_;
  std::mutex mutex_;
  std::int64_t lookups_ = 0;
};

}  // namespace neuroshard
