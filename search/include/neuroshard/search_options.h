#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/placement_policy.h"

#pragma GCC visibility push(default)
namespace neuroshard {

enum class Algorithm {
  kNeuroshard,        ///< Many starts, the published search among them, and their improvement.
  kPublished,         ///< Beam search over column splits, grid search over placements.
  kUniform,           ///< Every table cut to one width, largest first, to the fewest columns.
  kRandom,            ///< Every table on a device drawn uniformly.
  kDimGreedy,         ///< Largest key first, to the device with the lowest key sum. Key: dim.
  kSizeGreedy,        ///< Key: bytes.
  kLookupGreedy,      ///< Key: dim * pooling factor.
  kSizeLookupGreedy,  ///< Key: dim * pooling factor * log10(rows).
  kRecshard,          ///< Key: time of lookups in HBM and in hosts' memory, as RecShard has it.
  kFlexshard,   ///< Sequences by rows, popular ones on every device; else as before kRecshard.
  kDreamshard,  ///< Whole tables, placed by networks of PlannerOptions::policy.
  kAutoshard,   ///< Whole tables, placed by AutoShard's networks.
};

/// All of them, the default one first.
[[nodiscard]] std::span<const Algorithm> all_algorithms();
/// "neuroshard", "published", "uniform", "random", "dim_greedy", "size_greedy", "lookup_greedy",
/// "size_lookup_greedy", "recshard", "flexshard", "dreamshard", "autoshard".
[[nodiscard]] std::string_view name_of(Algorithm algorithm);
/// Throws Error listing the names.
[[nodiscard]] Algorithm algorithm_from_name(std::string_view name);

/// Effort that Algorithm::kNeuroshard puts into a plan. More effort never gives a dearer plan.
enum class Effort {
  kFast,      ///< Good for what-ifs: no more time than the published search took here.
  kDefault,   ///< Never dearer than the published search.
  kThorough,  ///< Seconds: close to the best that is known.
};

[[nodiscard]] std::span<const Effort> all_efforts();
/// "fast", "default", "thorough".
[[nodiscard]] std::string_view name_of(Effort effort);
/// Throws Error listing the names.
[[nodiscard]] Effort effort_from_name(std::string_view name);

/// Says how tables may be cut.
enum class Cuts {
  /// As TorchRec's runtime can execute it (docs/search.md). Where the cost models price that and it
  /// is cheaper, tables are also replicated, cut row-wise over all devices, or cut by columns to
  /// other parts than halves. Where columns alone find no room, tables are cut by rows, too:
  /// row-wise, or table-row-wise and grid over nodes.
  kAny,
  kColumns,  ///< Halved by columns, as published.
  /// A preset: as kAny, and PlannerOptions::equal_widths.
  kTorchrec,
};

[[nodiscard]] std::span<const Cuts> all_cuts();
/// "any", "columns", "torchrec".
[[nodiscard]] std::string_view name_of(Cuts cuts);
/// Throws Error listing the names.
[[nodiscard]] Cuts cuts_from_name(std::string_view name);

/// Sizes of the published search; the defaults are those of the published system.
struct SearchOptions {
  int beam_width = 3;   ///< States of column splits kept per level (K).
  int candidates = 10;  ///< Tables tried per state: this many largest, and as many costliest (N).
  int max_splits = 10;  ///< Levels (L); splits that memory forces are not counted.
  int grid_steps = 11;  ///< Limits on a device's dim sum, from 1.0 to 1.5 times the mean (M).
  /// Also split tables that exceed a device, or that find no room otherwise, and as a last resort
  /// exceed the highest dim limit. Off: as published, which splits to lower costs only and gives
  /// up on most such tasks. Algorithm::kNeuroshard uses this only where it starts from that search.
  bool memory_splits = true;
};

/// All backends: "cuda", then cpu_backends().
[[nodiscard]] std::vector<std::string> backends();

struct PlannerOptions {
  Algorithm algorithm = Algorithm::kNeuroshard;
  Effort effort = Effort::kDefault;  ///< For Algorithm::kNeuroshard.
  /// With Algorithm::kNeuroshard, all slices of a table have one width, as checkpoints of some
  /// training systems need. This leaves no task without a plan. Plans mostly cost a little more,
  /// and may then cost more than the published search's.
  bool equal_widths = false;
  /// For Algorithm::kNeuroshard. Nothing: kAny with cost models that know what they were trained
  /// on, as the built-in ones do; kColumns with others, such as the published checkpoints.
  std::optional<Cuts> cuts{};
  SearchOptions search{};
  /// "auto" or one of backends(). "auto" is what the environment variable NEUROSHARD_BACKEND names,
  /// if it is set, else "cuda" if a GPU works here, else the first of available_cpu_backends().
  std::string backend = "auto";
  int threads = 0;         ///< CPU threads for one plan or one batch; 0: one per core.
  std::uint64_t seed = 0;  ///< For Algorithm::kRandom.
  /// For the algorithms kDreamshard and kAutoshard, which need one of their kind (load_policy()).
  std::shared_ptr<const PlacementPolicy> policy{};
  /// Off: every placement is computed anew. Plans are the same; for tests and benchmarks.
  bool reuse_work = true;
};

}  // namespace neuroshard
#pragma GCC visibility pop
