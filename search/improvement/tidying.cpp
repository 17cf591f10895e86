#include "search/improvement/tidying.h"

#include <algorithm>
#include <optional>

#include "search/improvement/edit_costs.h"
#include "search/improvement/edit_source.h"
#include "search/improvement/working_plan.h"

namespace neuroshard {
namespace {

// Bound the time on plans of very many slices.
constexpr int kMostTries = 20000;
constexpr int kMostUnderestimates = 64;

// Another slice of the same width and table, the first one after `index` in the table's list.
std::optional<std::uint32_t> other_half(const WorkingPlan& plan, std::uint32_t index) {
  const PlacedSlice& slice = plan.slice(index);
  if (plan.pool().whole(slice.table) == slice.piece) return std::nullopt;
  for (const std::uint32_t other : plan.of_table(slice.table)) {
    if (other > index && plan.slice(other).piece == slice.piece) return other;
  }
  return std::nullopt;
}

PlanEdit joining(const WorkingPlan& plan, std::uint32_t stays, std::uint32_t comes) {
  PlacedSlice joined = plan.slice(stays);
  PlanEdit edit(joined.device, plan.slice(comes).device);
  edit.remove(stays);
  edit.remove(comes);
  --joined.piece;
  edit.add(joined);
  join_halves(plan, edit);
  return edit;
}

}  // namespace

Layout tidied(const CpuBackend& cpu, const PiecePool& pool, const Task& task, const Layout& layout,
              double most_ms, const StopCondition& stop) {
  std::optional<WorkingPlan> plan;
  std::optional<EditCosts> costs;
  const auto start_from = [&](const Layout& from) {
    costs.reset();
    plan.emplace(pool, task.devices, from);
    costs.emplace(cpu, *plan);
  };
  start_from(layout);
  AlignedVector<float> sums(2 * pool.embedding_width());
  int underestimates = 0;
  const auto try_joining = [&](std::uint32_t stays, std::uint32_t comes) {
    const PlanEdit edit = joining(*plan, stays, comes);
    const WorkingPlan::Outcome outcome = plan->outcome(edit, sums.data());
    for (std::size_t side = 0; side < 2; ++side) {
      if (outcome.memory[side] > std::max(task.memory_bytes, plan->memory(edit.device(side)))) {
        return false;
      }
    }
    const std::optional<double> cost_ms = costs->estimate(edit, outcome, sums.data(), most_ms);
    if (!cost_ms || *cost_ms > most_ms) return false;
    const Layout before = plan->layout();
    plan->apply(edit);
    costs->accept(edit);
    if (!costs->exact()) costs->synchronize();
    if (costs->cost_ms() <= most_ms) return true;
    ++underestimates;
    start_from(before);
    return false;
  };
  int tries = 0;
  for (std::uint32_t index = 0; index < plan->layout().size(); ++index) {
    // A join may be followed by another one of what it made.
    while (const std::optional<std::uint32_t> other = other_half(*plan, index)) {
      if (++tries > kMostTries || underestimates > kMostUnderestimates || stop.reached()) {
        return plan->layout();
      }
      if (!try_joining(index, *other) && !try_joining(*other, index)) break;
    }
  }
  return plan->layout();
}

}  // namespace neuroshard
