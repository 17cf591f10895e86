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
constexpr int kMostDevicesPriced = 1 << 14;

// Another slice of the same width and table, the first one after `index` in the table's list.
std::optional<std::uint32_t> other_half(const WorkingPlan& plan, std::uint32_t index) {
  const PlacedSlice& slice = plan.slice(index);
  if (!plan.can_join(slice)) return std::nullopt;
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

Layout tidied(const Backend& backend, const PieceCatalog& catalog, const Task& task,
              const Layout& layout, double most_ms, const StopCondition& stop, bool equal_widths) {
  std::optional<WorkingPlan> plan;
  std::optional<EditCosts> costs;
  const auto start_from = [&](const Layout& from) {
    costs.reset();
    plan.emplace(catalog, task.devices, from, equal_widths);
    costs.emplace(backend, *plan, compute_on_devices(task));
  };
  start_from(layout);
  const std::vector<std::int64_t> rooms = rooms_bytes(task);
  AlignedVector<float> sums(2 * catalog.embedding_width());
  Layout kept = layout;  // The last plan that surely costs no more than allowed.
  bool one_by_one = false;
  int prices = 0;
  // Takes back what was joined since `kept` if it costs too much in truth. From then on joins are
  // checked one by one.
  const auto check = [&] {
    if (!costs->exact()) costs->synchronize();
    ++prices;
    if (costs->cost_ms() <= most_ms) {
      kept = plan->layout();
      return true;
    }
    one_by_one = true;
    start_from(kept);
    return false;
  };
  const auto try_joining = [&](std::uint32_t stays, std::uint32_t comes) {
    const PlanEdit edit = joining(*plan, stays, comes);
    const WorkingPlan::Outcome outcome = plan->outcome(edit, sums.data());
    for (std::size_t side = 0; side < 2; ++side) {
      const std::uint32_t device = edit.device(side);
      if (outcome.memory[side] > std::max(rooms[device], plan->memory(device))) {
        return false;
      }
    }
    const std::optional<double> cost_ms = costs->estimate(edit, outcome, sums.data(), most_ms);
    if (!cost_ms || *cost_ms > most_ms) return false;
    plan->apply(edit);
    costs->accept(edit);
    return !(one_by_one || costs->exact()) || check();
  };
  int tries = 0;
  const auto enough = [&] {
    return ++tries > kMostTries || prices * task.devices > kMostDevicesPriced || stop.reached();
  };
  // Until a pass joins nothing: a join may make the half that an earlier slice lacked.
  std::size_t slices = 0;
  bool over = false;
  while (!over && slices != plan->layout().size()) {
    slices = plan->layout().size();
    for (std::uint32_t index = 0; index < plan->layout().size();) {
      const std::optional<std::uint32_t> other = other_half(*plan, index);
      if (!other) {
        ++index;
        continue;
      }
      if ((over = enough())) break;
      // What was joined may be joined again: the same index once more. A plan that was taken back
      // has other slices there.
      if (try_joining(index, *other)) continue;
      if (other_half(*plan, index) == other && try_joining(*other, index)) continue;
      ++index;
    }
  }
  (void)check();
  return kept;
}

}  // namespace neuroshard
