#pragma once

#include <cstdint>
#include <optional>

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

/// Improves a complete plan by simulated annealing (Kirkpatrick, Gelatt, Vecchi: Optimization by
/// simulated annealing, Science, 1983) over the edits of EditSource. No device exceeds
/// its room_bytes() that did not before, slices come only to devices that the rules of their table
/// and groups allow, and no more bytes are moved than allowed, unless the start moves more. Tables
/// that groups keep together stay where they are, unless they are a bundle. The same on every
/// machine: kernels agree to the last bit.
[[nodiscard]] Annealed anneal(const Backend& backend, const PieceCatalog& catalog, const Task& task,
                              const Layout& start, const AnnealingOptions& options,
                              const StopCondition& stop);

/// The same task as backends anneal it (Backend::anneal()), of equal devices, with tables that may
/// go to each of them; nothing if it is another. Borrows `catalog`.
[[nodiscard]] std::optional<AnnealingProblem> annealing_problem(const Backend& backend,
                                                                const PieceCatalog& catalog,
                                                                const Task& task,
                                                                bool equal_widths);
/// A chain of it; borrows `start`.
[[nodiscard]] AnnealingChain annealing_chain(const Layout& start, const AnnealingOptions& options);

}  // namespace neuroshard
