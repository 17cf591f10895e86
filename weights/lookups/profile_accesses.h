#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "neuroshard/task.h"
#include "weights/lookups/access_data.h"

namespace neuroshard {

struct ProfileOptions {
  int threads = 0;  ///< 0: one per core.
  /// Parts of the rows whose shares of the lookups are counted, up to kMaxRowShares; 0: tables have
  /// no row shares.
  int row_parts = 0;
  /// [files][samples]: sessions, of which profile_log() counts distinct_samples() alone; empty: all
  /// samples count.
  std::span<const std::vector<std::int64_t>> sessions{};
  /// Called on one thread at a time, with the lookups counted so far.
  std::function<void(std::int64_t lookups)> progress = nullptr;
};

/// Rows (largest index + 1, at least 100 as in the published program), pooling factor and access
/// histogram, of `data.batch` samples, of every table; `dim` is 128, as accesses say nothing of it.
/// A table never looked up has 100 rows, an all-zero histogram and no row shares. Memory: about 130
/// MiB a thread, and more only for tables that touch rows beyond 2^26. Throws Error naming table
/// and position on a negative or absurd index, or if `row_parts` is out of range.
[[nodiscard]] std::vector<Table> profile_accesses(const AccessData& data,
                                                  const ProfileOptions& options = {});

}  // namespace neuroshard
