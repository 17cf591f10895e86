#pragma once

#include <span>
#include <vector>

#include "neuroshard/task.h"
#include "weights/lookups/access_data.h"
#include "weights/lookups/miss_curve.h"
#include "weights/lookups/profile_accesses.h"

namespace neuroshard {

/// Tables by what many batches look up in them.
struct LogProfile {
  /// As profile_accesses() has them; histograms are of a batch, on average. With
  /// Table::popularity, unless a table is never looked up. If there are sessions,
  /// Table::features is the share of samples that are left, of which all else is, too: a sample of
  /// the batch has so many bags.
  std::vector<Table> tables;
  std::vector<MissCurve> miss_curves;  ///< [tables], if they are asked for.
};

/// Samples of a batch of the log. Throws Error naming two files that differ in it, or in tables.
[[nodiscard]] std::int64_t batch_of_log(std::span<const AccessData> log);

/// Batches in the order of files and, within one, of samples. Caches of `miss_curves` are warmed up
/// by the first half of them, for which there are two at least. If a file is compressed, one thread
/// reads all of them. Memory: 8 bytes a thread for each row up to the largest one and 2^26, and
/// some 30 for each that is looked up beyond; with sessions, also a batch of a table. Throws Error
/// as profile_accesses() and batch_of_log() do.
[[nodiscard]] LogProfile profile_log(std::span<const AccessData> log, const ProfileOptions& options,
                                     bool miss_curves = false);

}  // namespace neuroshard
