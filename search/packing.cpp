#include "search/packing.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/step_budget.h"

namespace neuroshard {
namespace {

// To take a device out of a set, and to put it back.
constexpr std::uint64_t kStepsOfSet = 32;

// By room, then by number of the device, so that ties fall to the first one.
using ByRoom = std::set<std::pair<std::int64_t, std::uint32_t>>;

void put(Packing& packing, std::uint32_t device, std::uint32_t size_class, std::int64_t slices) {
  if (!packing.empty() && packing.back().device == device &&
      packing.back().size_class == size_class) {
    packing.back().slices += slices;
  } else {
    packing.push_back({device, size_class, slices});
  }
}

ByRoom empty_devices(const PackingProblem& problem) {
  ByRoom devices;
  for (int d = 0; d < problem.devices; ++d) {
    devices.emplace(problem.memory_bytes, static_cast<std::uint32_t>(d));
  }
  return devices;
}

// Slices of one class go to a device until it is full: after each it is still the first one.
std::optional<Packing> first_fit(const PackingProblem& problem, StepBudget& budget) {
  Packing packing;
  std::vector<std::int64_t> room(static_cast<std::size_t>(problem.devices), problem.memory_bytes);
  for (std::uint32_t c = 0; c < problem.classes.size(); ++c) {
    auto [size, left] = problem.classes[c];
    for (std::uint32_t device = 0; left > 0; ++device) {
      if (device == room.size() || !budget.take()) return std::nullopt;
      const std::int64_t here = std::min(left, room[device] / size);
      if (here == 0) continue;
      put(packing, device, c, here);
      room[device] -= here * size;
      left -= here;
    }
  }
  return packing;
}

// The same holds for the device with the least room.
std::optional<Packing> best_fit(const PackingProblem& problem, StepBudget& budget) {
  Packing packing;
  ByRoom by_room = empty_devices(problem);
  for (std::uint32_t c = 0; c < problem.classes.size(); ++c) {
    auto [size, left] = problem.classes[c];
    while (left > 0) {
      const auto fullest = by_room.lower_bound({size, 0});
      if (fullest == by_room.end() || !budget.take(kStepsOfSet)) return std::nullopt;
      const auto [room, device] = *fullest;
      const std::int64_t here = std::min(left, room / size);
      put(packing, device, c, here);
      by_room.erase(fullest);
      by_room.emplace(room - here * size, device);
      left -= here;
    }
  }
  return packing;
}

std::optional<Packing> worst_fit(const PackingProblem& problem, StepBudget& budget) {
  Packing packing;
  ByRoom by_room = empty_devices(problem);
  for (std::uint32_t c = 0; c < problem.classes.size(); ++c) {
    const auto [size, slices] = problem.classes[c];
    for (std::int64_t slice = 0; slice < slices; ++slice) {
      const std::int64_t most_room = by_room.rbegin()->first;
      if (most_room < size || !budget.take(kStepsOfSet)) return std::nullopt;
      auto emptiest = by_room.extract(by_room.lower_bound({most_room, 0}));
      put(packing, emptiest.value().second, c, 1);
      emptiest.value().first -= size;
      by_room.insert(std::move(emptiest));
    }
  }
  return packing;
}

}  // namespace

std::int64_t PackingProblem::slices() const {
  std::int64_t all = 0;
  for (const SizeClass& size_class : classes) all += size_class.slices;
  return all;
}

std::optional<Packing> pack_decreasing(const PackingProblem& problem, PackingRule rule,
                                       const StopCondition& stop) {
  StepBudget budget(StepBudget::kAnySteps, stop);
  switch (rule) {
    case PackingRule::kFirstFit:
      return first_fit(problem, budget);
    case PackingRule::kBestFit:
      return best_fit(problem, budget);
    case PackingRule::kWorstFit:
      break;
  }
  return worst_fit(problem, budget);
}

}  // namespace neuroshard
