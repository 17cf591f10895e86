#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/cost_models.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard {

enum class Algorithm {
  kNeuroshard,        ///< Beam search over column splits, grid search over placements.
  kRandom,            ///< Every table on a device drawn uniformly.
  kDimGreedy,         ///< Up to kSizeLookupGreedy: largest key first, to the lowest key sum.
  kSizeGreedy,        ///< Key: bytes.
  kLookupGreedy,      ///< Key: dim * pooling factor.
  kSizeLookupGreedy,  ///< Key: dim * pooling factor * log10(rows).
  kUniform,           ///< Every table in slices of one width, of 4 to 256 columns, the heaviest
                      ///< first to the device with the lowest dim sum; the cheapest of these
                      ///< plans by prediction. Independent of the order of the tables.
};

/// "neuroshard", "random", "dim_greedy", "size_greedy", "lookup_greedy", "size_lookup_greedy",
/// "uniform".
[[nodiscard]] std::string_view name_of(Algorithm algorithm);
/// Throws Error listing the names.
[[nodiscard]] Algorithm algorithm_from_name(std::string_view name);

/// Sizes of the search; the defaults are those of the published system.
struct SearchOptions {
  int beam_width = 3;   ///< States of column splits kept per level (K).
  int candidates = 10;  ///< Tables tried per state: this many largest, and as many costliest (N).
  int max_splits = 10;  ///< Levels (L); splits that memory forces are not counted.
  int grid_steps = 11;  ///< Limits on a device's dim sum, from 1.0 to 1.5 times the mean (M).
  /// Also split tables that exceed a device, or that find no room otherwise, and as a last resort
  /// exceed the highest dim limit. Off: the published search, which splits to lower costs only and
  /// gives up on most such tasks.
  bool memory_splits = true;
};

struct PlannerOptions {
  Algorithm algorithm = Algorithm::kNeuroshard;
  SearchOptions search;
  std::string backend = "auto";  ///< "auto", "scalar", "avx2" or "cuda".
  int threads = 0;               ///< CPU threads for one plan or one batch; 0: one per core.
  std::uint64_t seed = 0;        ///< Of Algorithm::kRandom.
  /// Off: every placement is computed anew. Plans are the same; for tests and benchmarks.
  bool reuse_work = true;
};

/// Why no plan exists, or why none was found.
struct Infeasibility {
  enum class Kind {
    kTotalMemory,    ///< All devices together are too small.
    kPieceTooLarge,  ///< A table split as far as it can be still exceeds a device.
    kPacking,        ///< The pieces could not be packed although their sum fits.
  };
  Kind kind = Kind::kTotalMemory;
  std::string message;                   ///< Says what does not fit, by how much, what would help.
  std::int64_t needed_bytes = 0;         ///< All tables together.
  std::int64_t available_bytes = 0;      ///< All devices together.
  std::int64_t largest_piece_bytes = 0;  ///< The largest piece that fits nowhere.
  int table = -1;                        ///< It is a piece of this table; -1: of none.
};

/// "total_memory", "piece_too_large", "packing".
[[nodiscard]] std::string_view name_of(Infeasibility::Kind kind);

struct SearchStats {
  std::string backend;  ///< The one that finished the search.
  std::string warning;  ///< Not empty if a GPU is there but failed, before or half-way.
  double search_ms = 0.0;
  std::uint64_t candidates = 0;        ///< Lists of pieces whose placements were asked for.
  std::uint64_t placements = 0;        ///< (candidate, grid step) pairs among them.
  std::uint64_t head_evaluations = 0;  ///< Shards really scored by the compute model.
  std::uint64_t comm_evaluations = 0;  ///< Placements really scored by the communication models.
};

struct PlanResult {
  std::optional<Plan> plan;  ///< Empty: see `infeasible`.
  PlanCost cost;             ///< Of `plan`, by the simulator.
  std::optional<Infeasibility> infeasible;
  SearchStats stats;
};

/// Finds plans of lowest predicted cost. Immutable once built: share one between threads.
class Planner {
 public:
  /// Throws Error on invalid models or options, or if a forced backend cannot run here.
  explicit Planner(CostModels models, PlannerOptions options = {});
  ~Planner();
  Planner(Planner&&) noexcept;
  Planner& operator=(Planner&&) noexcept;

  /// Throws Error if the task is invalid or the models lack its device count. A task that cannot
  /// fit is a result, not an exception. Touches no file, prints nothing.
  [[nodiscard]] PlanResult plan(const Task& task) const;

  /// Many tasks in flight at once; the results are those of plan(), in order.
  [[nodiscard]] std::vector<PlanResult> plan_batch(std::span<const Task> tasks) const;

  /// Predicted cost of any plan for `task`. Throws Error if the plan does not place every column
  /// of every table exactly once. A plan that exceeds memory has a cost all the same, and says so.
  [[nodiscard]] PlanCost simulate(const Task& task, const Plan& plan) const;

  /// The backend in use: "scalar", "avx2" or "cuda".
  [[nodiscard]] std::string_view backend() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace neuroshard
