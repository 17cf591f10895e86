#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "neuroshard/stop_condition.h"

namespace neuroshard {

/// Slices that have one size: to a packing they are the same.
struct SizeClass {
  std::int64_t size_bytes = 0;
  std::int64_t slices = 0;
};

/// What is to be packed: into `devices` of `memory_bytes` each. Sums fit 64 bits.
struct PackingProblem {
  std::vector<SizeClass> classes;  ///< The largest first, all sizes different.
  int devices = 0;
  std::int64_t memory_bytes = 0;

  [[nodiscard]] std::int64_t slices() const;
};

/// So many slices of a class on a device.
struct PackedSlices {
  std::uint32_t device = 0;
  std::uint32_t size_class = 0;
  std::int64_t slices = 0;

  friend bool operator==(const PackedSlices&, const PackedSlices&) = default;
};
using Packing = std::vector<PackedSlices>;

/// Which device gets the next slice, of those with room for it.
enum class PackingRule {
  kFirstFit,  ///< The first one.
  kBestFit,   ///< The one with the least room.
  kWorstFit,  ///< The one with the most room.
};

/// Packs the largest slices first by `rule`; ties go to the first device. Nothing if a slice finds
/// no room, or at `stop`. (Johnson, Demers, Ullman, Garey, Graham: Worst-case performance bounds
/// for simple one-dimensional packing algorithms, 1974.)
[[nodiscard]] std::optional<Packing> pack_decreasing(const PackingProblem& problem,
                                                     PackingRule rule,
                                                     const StopCondition& stop = {});

enum class PackingOutcome {
  kPacked,
  kImpossible,  ///< Proven: there is no packing.
  kGaveUp,      ///< After as many nodes as were allowed, or at the stop.
};

struct PackingSearchResult {
  PackingOutcome outcome = PackingOutcome::kGaveUp;
  Packing packing;  ///< If kPacked.
};

/// Looks for a packing by completing one device after the other: a device takes the largest slice
/// that is left, then a set of others that no further slice could join and that wastes no more
/// than there is to waste. (Korf: A new algorithm for optimal bin packing, AAAI 2002.)
/// Counts a node for each decision about a class on a device; the same on every machine.
[[nodiscard]] PackingSearchResult search_packing(const PackingProblem& problem,
                                                 std::uint64_t most_nodes,
                                                 const StopCondition& stop);

}  // namespace neuroshard
