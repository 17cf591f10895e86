#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/plan.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Says why no plan exists, or why none was found.
struct Infeasibility {
  enum class Kind {
    kTotalMemory,    ///< All devices together are too small.
    kPieceTooLarge,  ///< A table split as far as it can be still exceeds a device.
    kPacking,        ///< The pieces could not be packed although their sum fits.
    kRules,          ///< Rules leave a table too small devices, or no sharding that can be planned.
    kNoTime,         ///< The deadline passed, or the caller stopped, before there was a plan.
  };
  Kind kind = Kind::kTotalMemory;
  std::string message;                   ///< Says what does not fit, by how much, what would help.
  std::int64_t needed_bytes = 0;         ///< All tables together.
  std::int64_t available_bytes = 0;      ///< All devices together.
  std::int64_t largest_piece_bytes = 0;  ///< The largest piece that fits nowhere.
  int table = -1;                        ///< It is a piece of this table; -1: of none.
};

/// "total_memory", "piece_too_large", "packing", "rules", "no_time".
[[nodiscard]] std::string_view name_of(Infeasibility::Kind kind);

struct SearchStats {
  std::string backend;  ///< The one that finished the search.
  /// Not empty if a GPU is there but failed, before or half-way, or if the system refused threads.
  /// It is not empty, either, if a task with links, or one that deduplicates by table, could not be
  /// planned without, too, for a plan to start from.
  std::string warning;
  double search_ms = 0.0;
  std::uint64_t candidates = 0;        ///< Lists of pieces whose placements were asked for.
  std::uint64_t placements = 0;        ///< (candidate, dim limit) pairs among them.
  std::uint64_t edits = 0;             ///< Changes to complete plans that were looked at.
  std::uint64_t head_evaluations = 0;  ///< Shards really scored by the compute model.
  std::uint64_t comm_evaluations = 0;  ///< Placements really scored by the communication models.
};

/// A plan with its cost by the simulator.
struct CostedPlan {
  Plan plan;
  PlanCost cost;
};

struct PlanResult {
  std::optional<Plan> plan;  ///< Empty: see `infeasible`.
  /// The simulator's cost of `plan`; infinite if there is none.
  PlanCost cost{.devices = {}, .cost_ms = std::numeric_limits<double>::infinity(), .warning = {}};
  std::optional<Infeasibility> infeasible;
  /// False if the deadline, or the caller, ended the search early.
  bool complete = true;
  /// Other plans, none equal to `plan` or to each other, cheapest first. There are as many as were
  /// asked for, if the search came across so many.
  std::vector<CostedPlan> alternatives;
  SearchStats stats;
};

}  // namespace neuroshard
#pragma GCC visibility pop
