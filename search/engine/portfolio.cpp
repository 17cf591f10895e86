#include "search/engine/portfolio.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "neuroshard/column_halvings.h"
#include "search/canonical_task.h"
#include "search/engine/chain.h"

namespace neuroshard {
namespace {

struct Budget {
  std::size_t chains;
  std::uint64_t edits;  ///< Each chain looks at so many.
};

constexpr double kEdits = 30000.0;
constexpr double kEditsOfSlice = 400.0;
constexpr double kMostEdits = 150000.0;
// Edits cost more where devices are many, and find less where they are few.
constexpr double kEditsTimesDevices = 3e7;
constexpr double kDevicesOfAllEdits = 8.0;
constexpr double kLeastEdits = 2000.0;
constexpr std::uint64_t kTimesForThorough = 12;
constexpr std::size_t kChains = 2;
constexpr std::size_t kThoroughChains = 4;
// Chains report after each of so many parts of their way.
constexpr std::uint64_t kRounds = 4;

// A chain begins by embedding some widths of each table.
constexpr std::chrono::microseconds kTimeOfTable{15};
// Its plans are priced in the end, which takes so long for each slice.
constexpr std::chrono::microseconds kTimeOfSlice{1};

Budget budget_of(Effort effort, std::size_t slices, int devices) {
  const double edits = std::min({kEdits + kEditsOfSlice * static_cast<double>(slices), kMostEdits,
                                 kEditsTimesDevices / devices});
  const double few = std::min(1.0, devices / kDevicesOfAllEdits);
  Budget budget{
      .chains = kChains,
      .edits = static_cast<std::uint64_t>(std::max(kLeastEdits, edits * few * few * few))};
  if (effort == Effort::kThorough) {
    budget.chains = kThoroughChains;
    budget.edits *= kTimesForThorough;
  }
  return budget;
}

/// Halves of halves as plan files have them, so that a plan is what is read back.
Plan in_normal_form(const Task& task, Plan plan) {
  std::optional<HalvedPlan> halved = halvings_of(plan);
  return halved ? plan_from_halvings(task, *std::move(halved)) : std::move(plan);
}

}  // namespace

void Portfolio::improve(const Plan& plan, const std::function<void(Plan)>& consider,
                        SearchStats& stats) const {
  StopCondition to_begin = stop;
  to_begin.keep(kTimeOfTable * task.tables.size());
  if (task.devices < 2 || to_begin.reached()) return;
  StopCondition in_time = stop;
  in_time.keep(kTimeOfSlice * plan.slices.size());
  const CanonicalTask canonical(task, stop);
  const Plan start = canonical.plan_of_task(plan);
  const Budget of_default = budget_of(Effort::kDefault, plan.slices.size(), task.devices);
  const Budget budget = budget_of(effort, plan.slices.size(), task.devices);
  std::vector<std::unique_ptr<Chain>> chains(budget.chains);
  const auto run = [&](std::uint64_t edits) {
    const auto run_chain = [&](std::size_t i, std::size_t) {
      if (!chains[i]) {
        chains[i] = std::make_unique<Chain>(backend, canonical, ways, start, i, in_time);
      }
      chains[i]->run(edits, in_time);
    };
    if (team != nullptr) {
      team->run(chains.size(), run_chain);
    } else {
      for (std::size_t i = 0; i < chains.size(); ++i) run_chain(i, 0);
    }
  };
  double best_ms = std::numeric_limits<double>::infinity();
  for (std::uint64_t edits = of_default.edits / kRounds; !in_time.reached();
       edits += of_default.edits / kRounds) {
    run(std::min(edits, budget.edits));
    for (const std::unique_ptr<Chain>& chain : chains) {
      if (chain->best() == nullptr || !(chain->best_ms() < best_ms)) continue;
      best_ms = chain->best_ms();
      consider(in_normal_form(task, canonical.plan_of_listed(*chain->best())));
    }
    if (edits >= budget.edits) break;
  }
  for (const std::unique_ptr<Chain>& chain : chains) {
    if (!chain) continue;
    stats.edits += chain->edits();
    stats.head_evaluations += chain->head_evaluations();
    stats.comm_evaluations += chain->comm_evaluations();
  }
}

}  // namespace neuroshard
