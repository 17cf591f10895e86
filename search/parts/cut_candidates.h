#pragma once

#include <cstdint>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/stop_condition.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// A table that may be cheaper if it is not cut by columns alone.
struct CutCandidate {
  std::uint32_t table = 0;
  /// About what a plan saves if the table's slices go, over what takes their place.
  double gain = 0.0;
  double net_ms = 0.0;            ///< The same as a difference, of a device on average.
  std::int64_t device_bytes = 0;  ///< What it then takes of each device,
  double more_bytes = 0.0;        ///< and of all together, beyond what its columns do.
};

/// All tables that rules and memory let be replicated, by falling gain. What a table's slices take
/// is taken to be shared out evenly over the devices of `sharded`, a plan that costs `cost`: its
/// operator, and its columns at the price that one more has in the all-to-alls; but if its
/// narrowest slice alone takes a device longer than its share of all tables, and its rows may not
/// be cut, that. Or if row blocks of it have a price and take less, what they do. Of replicas, all
/// devices wait for the slowest. On one device: none. Here and below, once `stop` is reached, gains
/// are not to be used.
[[nodiscard]] std::vector<CutCandidate> replica_candidates(const Backend& backend, const Task& task,
                                                           const Plan& sharded,
                                                           const PlanCost& cost,
                                                           const StopCondition& stop = {});

/// Tables that may be cheaper row-wise, a block of rows on each device, by falling gain: those with
/// more lookups than columns, whose ids each slice of columns is sent; and those whose narrowest
/// slice takes a device longer than its share of all tables. `sharded` is a plan by columns that
/// costs `cost`. Memory is looked at later. On one device: none.
[[nodiscard]] std::vector<CutCandidate> row_wise_candidates(const Backend& backend,
                                                            const Task& task, const Plan& sharded,
                                                            const PlanCost& cost,
                                                            const StopCondition& stop = {});

/// Tables that may be cheaper in row blocks on the devices of one node than as slices or row-wise,
/// by falling gain, and those that are not, unless all of them together lose much: a plan waits for
/// the last slice that is sent many ids. The arguments are those of row_wise_candidates(). Where
/// block_groups() knows no nodes: none. Where `backend` has a price of such blocks, those that lose
/// much and those with rules on devices are left out.
[[nodiscard]] std::vector<CutCandidate> node_block_candidates(const Backend& backend,
                                                              const Task& task, const Plan& sharded,
                                                              const PlanCost& cost,
                                                              const StopCondition& stop = {});

/// The three of them.
struct CutCandidates {
  std::vector<CutCandidate> replicas;
  std::vector<CutCandidate> row_wise;
  std::vector<CutCandidate> node_blocks;
};
[[nodiscard]] CutCandidates cut_candidates(const Backend& backend, const Task& task,
                                           const Plan& sharded, const PlanCost& cost,
                                           const StopCondition& stop);

}  // namespace neuroshard
