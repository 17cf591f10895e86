#pragma once

#include <cstdint>

#include "neuroshard/backend.h"
#include "neuroshard/stop_condition.h"
#include "search/improvement/edit_source.h"
#include "search/improvement/move_costs.h"
#include "search/layout.h"

namespace neuroshard {

struct AnnealingOptions {
  std::uint64_t steps = 0;   ///< Edits drawn.
  std::uint64_t stream = 0;  ///< Of random numbers; another one takes another way.
  /// Temperatures at the first and the last step, as shares of the start's cost.
  double hottest = 3e-3;
  double coldest = 3e-5;
  Halves halves = Halves::kJoined;
  /// Ids cost nothing at first, and ever more until they have their price: for the cost of the
  /// device with most of them keeps tables with many lookups from passing each other.
  bool soften_ids = false;
  bool equal_widths = false;         ///< As in WorkingPlan.
  const MoveCosts* moves = nullptr;  ///< If a plan runs already. Borrowed.
};

/// What annealing has found, and what it took.
struct Annealed {
  Layout layout;  ///< The cheapest plan met; the start if there was none cheaper.
  /// By EditCosts: as exact as embeddings summed in another order are. With what its moves cost.
  double cost_ms = 0.0;
  std::uint64_t edits = 0;
  std::uint64_t head_evaluations = 0;
  std::uint64_t comm_evaluations = 0;
};

/// Improves a complete plan by simulated annealing (Kirkpatrick, Gelatt, Vecchi: Optimization by
/// simulated annealing, Science, 1983) over the edits of EditSource. No device exceeds
/// its room_bytes() that did not before, slices come only to devices that the rules of their table
/// and groups allow, and no more bytes are moved than allowed, unless the start moves more. Tables
/// that groups keep together stay where they are, unless they are a bundle. The same on every
/// machine: kernels agree to the last bit.
[[nodiscard]] Annealed anneal(const Backend& backend, const PieceCatalog& catalog, const Task& task,
                              const Layout& start, const AnnealingOptions& options,
                              const StopCondition& stop);

}  // namespace neuroshard
