#include "search/improvement/annealing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/placement/annealing_rules.h"
#include "core/tables/natural_log.h"
#include "core/tables/table_groups.h"
#include "core/tables/table_rules.h"
#include "search/improvement/edit_costs.h"
#include "search/improvement/edit_source.h"
#include "search/improvement/working_plan.h"

namespace neuroshard {
namespace {

bool fits(const WorkingPlan& plan, const PlanEdit& edit, const WorkingPlan::Outcome& outcome,
          const std::vector<std::int64_t>& rooms) {
  for (std::size_t side = 0; side < 2; ++side) {
    const std::uint32_t device = edit.device(side);
    if (outcome.memory[side] > rooms[device] && outcome.memory[side] > plan.memory(device)) {
      return false;
    }
  }
  return true;
}

/// [tables][devices], no devices for tables that may go to all. Empty if all may. Edits move one
/// table or two: those that groups keep together stay where the start has them.
std::vector<std::vector<bool>> allowed_devices_of(const Task& task, const Layout& start) {
  const std::vector<TableBundle> bundles = table_bundles(task);
  if (bundles.empty() && !any_limits_devices(task)) return {};
  std::vector<std::vector<bool>> allowed(task.tables.size());
  for (std::size_t t = 0; t < allowed.size(); ++t) {
    const TableRules& rules = task.tables[t].rules;
    if (rules.limit_devices()) allowed[t] = allowed_devices(rules, task);
  }
  std::vector<bool> stays(bundles.empty() ? 0 : task.tables.size(), false);
  for (const TableBundle& bundle : bundles) {
    for (const std::uint32_t t : bundle) {
      stays[t] = true;
      allowed[t].assign(static_cast<std::size_t>(task.devices), false);
    }
  }
  for (const PlacedSlice& slice : start) {
    if (!stays.empty() && stays[slice.table]) allowed[slice.table][slice.device] = true;
  }
  return allowed;
}

bool is_allowed(const PlanEdit& edit, const std::vector<std::vector<bool>>& allowed) {
  const std::span<const PlacedSlice> added = edit.added();
  return std::all_of(added.begin(), added.end(), [&](const PlacedSlice& slice) {
    return allowed[slice.table].empty() || allowed[slice.table][slice.device];
  });
}

/// Whether no slice comes to a device that holds, after `edit`, a table that groups keep from its
/// own.
bool keeps_apart(const WorkingPlan& plan, const PlanEdit& edit, const ApartTables& apart) {
  const std::span<const std::uint32_t> removed = edit.removed();
  const std::span<const PlacedSlice> added = edit.added();
  return std::ranges::all_of(added, [&](const PlacedSlice& slice) {
    if (apart.groups_of(slice.table).empty()) return true;
    const auto is_kept_from = [&](const PlacedSlice& other) {
      return other.device == slice.device && other.table != slice.table &&
             !apart.groups_of(other.table).empty() && apart.apart(other.table, slice.table);
    };
    return std::ranges::none_of(added, is_kept_from) &&
           std::ranges::none_of(plan.on_device(slice.device), [&](std::uint32_t index) {
             return is_kept_from(plan.slice(index)) &&
                    std::ranges::find(removed, index) == removed.end();
           });
  });
}

}  // namespace

Annealed anneal(const Backend& backend, const PieceCatalog& catalog, const Task& task,
                const Layout& start, const AnnealingOptions& options, const StopCondition& stop) {
  WorkingPlan plan(catalog, task.devices, start, options.equal_widths);
  EditCosts costs(backend, plan, compute_on_devices(task));
  EditSource source(plan, options.halves, annealing::kSeed, options.stream);
  AlignedVector<float> sums(2 * catalog.embedding_width());
  const std::vector<std::vector<bool>> allowed = allowed_devices_of(task, start);
  const ApartTables apart(task);
  const MoveCosts* const moves = options.moves;
  std::int64_t moved_bytes = moves != nullptr ? moves->moved_bytes(plan) : 0;
  double charge_ms = moves != nullptr ? moves->charge_ms(moved_bytes) : 0.0;

  Annealed best{.layout = start, .cost_ms = costs.cost_ms() + charge_ms};
  const std::vector<std::int64_t> rooms = rooms_bytes(task);
  bool at_best = true;  // The plan is the best one; best.layout need not have it yet.
  double temperature_ms = options.hottest * std::abs(best.cost_ms);
  const double cooling = annealing::cooling(options.hottest, options.coldest, options.steps);
  const double soft_steps = annealing::soft_steps(options.steps);
  for (std::uint64_t step = 0; step < options.steps; ++step, temperature_ms *= cooling) {
    if (step % annealing::kStepsBetweenStops == 0) {
      if (stop.reached()) break;
      if (options.soften_ids) {
        costs.set_ids_share(std::min(1.0, static_cast<double>(step) / soft_steps));
      }
    }
    ++best.edits;
    const std::optional<PlanEdit> edit = source.draw(costs.critical());
    if (!edit) continue;
    if (!allowed.empty() && !is_allowed(*edit, allowed)) continue;
    if (!apart.empty() && !keeps_apart(plan, *edit, apart)) continue;
    const WorkingPlan::Outcome outcome = plan.outcome(*edit, sums.data());
    if (!fits(plan, *edit, outcome, rooms)) continue;
    // Metropolis: accepted with probability exp(-loss / temperature).
    double limit_ms =
        costs.softened_cost_ms() - temperature_ms * natural_log(1.0 - source.uniform());
    std::int64_t moved_after = 0;
    double charge_after_ms = 0.0;
    if (moves != nullptr) {
      moved_after = moved_bytes + moves->change_bytes(plan, *edit);
      if (moved_after > moved_bytes && moved_after > moves->most_moved_bytes()) continue;
      charge_after_ms = moves->charge_ms(moved_after);
      limit_ms += charge_ms - charge_after_ms;
    }
    const std::optional<double> cost_ms = costs.estimate(*edit, outcome, sums.data(), limit_ms);
    if (!cost_ms || *cost_ms > limit_ms) continue;
    if (at_best) best.layout = plan.layout();
    plan.apply(*edit);
    costs.accept(*edit);
    at_best = false;
    moved_bytes = moved_after;
    charge_ms = charge_after_ms;
    const double threshold_ms =
        best.cost_ms - annealing::kLeastGain * std::abs(best.cost_ms) - charge_ms;
    if (costs.cost_ms() < threshold_ms && !costs.exact()) costs.synchronize();
    if (costs.cost_ms() < threshold_ms) {
      best.cost_ms = costs.cost_ms() + charge_ms;
      at_best = true;
    }
  }
  if (at_best) best.layout = plan.layout();
  best.head_evaluations = costs.head_evaluations();
  best.comm_evaluations = costs.comm_evaluations();
  return best;
}

std::optional<AnnealingProblem> annealing_problem(const Backend& backend,
                                                  const PieceCatalog& catalog, const Task& task,
                                                  bool equal_widths) {
  const std::vector<std::int64_t> rooms = rooms_bytes(task);
  const bool equal_devices =
      compute_on_devices(task).speed.empty() &&
      std::ranges::count(rooms, rooms.front()) == static_cast<std::ptrdiff_t>(rooms.size());
  if (!equal_devices || !task.groups.empty() || any_limits_devices(task) ||
      backend.nodes(task.devices) != nullptr) {
    return std::nullopt;
  }
  AnnealingProblem problem{.devices = task.devices,
                           .room_bytes = rooms.front(),
                           .embeddings = catalog.embeddings(),
                           .dims = catalog.dims(),
                           .size_bytes = catalog.sizes_bytes(),
                           .lookups = catalog.lookups(),
                           .may_halve = catalog.can_split(),
                           .whole = {},
                           .most_slices = {},
                           .equal_widths = equal_widths};
  constexpr std::size_t kAnyNumber = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t table = 0; table < catalog.tables(); ++table) {
    problem.whole.push_back(catalog.whole(table));
    problem.most_slices.push_back(
        static_cast<std::uint32_t>(std::min(catalog.most_slices(table), kAnyNumber)));
  }
  return problem;
}

AnnealingChain annealing_chain(const Layout& start, const AnnealingOptions& options) {
  return {.start = start,
          .steps = options.steps,
          .stream = options.stream,
          .hottest = options.hottest,
          .coldest = options.coldest,
          .joins_halves = options.halves == Halves::kJoined,
          .soften_ids = options.soften_ids};
}

}  // namespace neuroshard
