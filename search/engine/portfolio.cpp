#include "search/engine/portfolio.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <vector>

#include "search/canonical_task.h"
#include "search/engine/chain.h"

namespace neuroshard {
namespace {

struct Budget {
  std::size_t chains;
  std::uint64_t edits;       ///< Each chain looks at so many,
  std::uint64_t most_edits;  ///< and at up to so many while they gain.
};

constexpr double kEdits = 25000.0;
constexpr double kEditsOfSlice = 340.0;
constexpr double kMostEdits = 90'000.0;
// Edits cost more where devices are many, and find less where they are few.
constexpr double kEditsTimesDevices = 5e7;
constexpr double kDevicesOfAllEdits = 8.0;
constexpr double kLeastEdits = 2000.0;
// Where tables take more of all room, few neighbours of a plan fit, and more edits find much.
constexpr double kTightShare = 0.85;
constexpr std::uint64_t kTimesForTight = 3;
constexpr std::uint64_t kTimesForThorough = 12;
constexpr std::uint64_t kPartsForFast = 8;
constexpr std::size_t kChains = 2;
constexpr std::size_t kThoroughChains = 4;
constexpr std::size_t kTimesForMoves = 2;
constexpr int kMostDevicesForTimes = 32;
// Chains report after each of so many parts of their way. They gain if the best plan is so much
// cheaper than some reports before.
constexpr std::uint64_t kRounds = 4;
constexpr std::size_t kRoundsOfGain = 2;
constexpr double kGain = 0.001;
constexpr std::uint64_t kTimesWhileGaining = 6;

// A chain begins by embedding some widths of each table.
constexpr std::chrono::microseconds kTimeOfTable{15};
// Its plans are priced in the end, which takes so long for each slice.
constexpr std::chrono::microseconds kTimeOfSlice{1};

Budget budget_of(Effort effort, std::size_t slices, int devices, bool is_tight) {
  const double edits = std::min({kEdits + kEditsOfSlice * static_cast<double>(slices), kMostEdits,
                                 kEditsTimesDevices / devices});
  const double few = std::min(1.0, devices / kDevicesOfAllEdits);
  const auto usual = static_cast<std::uint64_t>(std::max(kLeastEdits, few * few * edits));
  Budget budget{.chains = kChains, .edits = usual, .most_edits = 0};
  if (effort == Effort::kFast) {
    budget.chains = 1;
    budget.edits /= kPartsForFast;
  } else if (effort == Effort::kThorough) {
    budget.chains = kThoroughChains;
    budget.edits *= kTimesForThorough;
  } else if (is_tight) {
    budget.edits *= kTimesForTight;
  }
  budget.most_edits = effort == Effort::kDefault ? kTimesWhileGaining * usual : budget.edits;
  return budget;
}

}  // namespace

bool Portfolio::is_tight() const {
  const auto bytes = static_cast<double>(total_bytes(task));
  return bytes > kTightShare * static_cast<double>(total_room_bytes(task));
}

bool Portfolio::in_time_to_begin() const {
  StopCondition to_begin = stop;
  to_begin.keep(kTimeOfTable * task.tables.size());
  return task.devices > 1 && !to_begin.reached();
}

StopCondition Portfolio::stop_with(std::size_t slices) const {
  StopCondition in_time = stop;
  in_time.keep(kTimeOfSlice * slices);
  return in_time;
}

void Portfolio::improve(std::span<const Plan> plans, const Consider& consider,
                        SearchStats& stats) const {
  if (!in_time_to_begin()) return;
  const std::size_t slices = plans.front().slices.size();
  const StopCondition in_time = stop_with(slices);
  const BundledTask canonical(task, canonical_order(task, ranks));
  std::vector<Plan> starts;
  for (const Plan& plan : plans) starts.push_back(canonical.plan_of_task(plan));
  const Budget of_default = budget_of(Effort::kDefault, slices, task.devices, is_tight());
  Budget budget = budget_of(effort, slices, task.devices, is_tight());
  // Few neighbours of a plan are within the limits of moves: other courses find others.
  if (moves != nullptr && effort != Effort::kFast && task.devices <= kMostDevicesForTimes) {
    budget.chains *= kTimesForMoves;
  }
  std::vector<std::unique_ptr<Chain>> chains(budget.chains);
  const auto run = [&](std::uint64_t edits) {
    const auto run_chain = [&](std::size_t i, std::size_t) {
      if (!chains[i]) {
        chains[i] = std::make_unique<Chain>(
            backend, canonical, ways, starts[i % starts.size()],
            Chain::Order{.number = i, .ways = i % 2 == 0, .moves = moves}, in_time);
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
  const Plan* best = &starts.front();
  const auto consider_best = [&](const Chain& chain) {
    if (chain.best() == nullptr || !(chain.best_ms() < best_ms)) return;
    best_ms = chain.best_ms();
    best = chain.best();
    consider(canonical.plan_of_listed(*best));
  };
  std::vector<double> reports_ms;
  const auto gains = [&] {
    return reports_ms.size() > kRoundsOfGain &&
           best_ms < (1.0 - kGain) * reports_ms.end()[-1 - static_cast<int>(kRoundsOfGain)];
  };
  for (std::uint64_t round = 1; !in_time.reached(); ++round) {
    const std::uint64_t edits = round * of_default.edits / kRounds;
    run(std::min(edits, budget.most_edits));
    for (const std::unique_ptr<Chain>& chain : chains) consider_best(*chain);
    reports_ms.push_back(best_ms);
    if (edits >= budget.most_edits || (edits >= budget.edits && !gains())) break;
    // The first two chains go the same ways with more effort, which has more of them.
    for (std::size_t i = 0; i + 1 < chains.size(); i += 2) {
      chains[i]->follow(*chains[i + 1]);
      chains[i + 1]->follow(*chains[i]);
    }
  }
  if (effort == Effort::kThorough && !in_time.reached()) {
    Chain last(backend, canonical, ways, *best, {.moves = moves}, in_time);
    last.search_neighbourhoods(budget.edits, in_time);
    consider_best(last);
    last.add_work_to(stats);
  }
  for (const std::unique_ptr<Chain>& chain : chains) {
    if (chain) chain->add_work_to(stats);
  }
}

}  // namespace neuroshard
