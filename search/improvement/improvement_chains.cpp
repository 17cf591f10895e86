#include "search/improvement/improvement_chains.h"

#include <algorithm>
#include <cstdint>

namespace neuroshard {
namespace {

// A plan for more devices takes more steps to settle. Beyond some sixteen the gain is
// slow, beyond some hundreds there is little to gain, a step takes longer, and time counts.
constexpr double kStepsPerFourthPowerOfDevices = 11.25;
constexpr double kLeastSteps = 1000;
constexpr double kMostSteps = 40000;
constexpr double kMostStepsTimesDevices = 2e7;
// Of few slices each one weighs much, and a chain gets stuck sooner.
constexpr double kFewSlices = 22;
// Where nodes have links of their own, slices are few because few are as good as many.
constexpr double kMostTimesAsMany = 4;
constexpr double kMostFewSlicesStepsTimesDevices = 2.5e6;
constexpr double kStepsPerSlice = 1500;
constexpr double kShortSteps = 500;
constexpr double kShortStepsAgain = 250;         // Of a plan that has had kShortSteps.
constexpr double kShortStepsTimesDevices = 1e5;  // On more, hundreds of steps gain nothing.
constexpr std::uint64_t kStepsOfChains = 8000;   // With fewer, one chain finds more than several.
constexpr std::size_t kDefaultChains = 3;
constexpr std::size_t kChainsOfFewSlices = 6;
// On more devices than this, groups and links make for few slices, too, and more chains, which take
// long there, find little.
constexpr int kDevicesOfFewSlices = 16;
constexpr std::uint64_t kThoroughSteps = 500000;
constexpr std::size_t kThoroughChains = 4;
constexpr double kWarm = 3e-3;  // Share of the cost, as AnnealingOptions::hottest.
constexpr double kHot = 1e-2;

std::uint64_t steps_of_default(const ImprovementCase& of) {
  const double devices = of.devices;
  const double slices = static_cast<double>(of.slices);
  const double to_settle = kStepsPerFourthPowerOfDevices * devices * devices * devices * devices;
  const double steps =
      std::clamp(to_settle, kLeastSteps, std::min(kMostSteps, kMostStepsTimesDevices / devices));
  const double fewness = kFewSlices / slices;
  const double most_times = of.links ? 1.0 : kMostTimesAsMany;
  const double of_few = std::min({to_settle * fewness * fewness, most_times * steps,
                                  kMostFewSlicesStepsTimesDevices / devices});
  return static_cast<std::uint64_t>(
      std::min(std::max(steps, of_few), kLeastSteps + kStepsPerSlice * slices));
}

std::uint64_t steps_of_short(const ImprovementCase& of) {
  const double steps = std::min(of.improved_before ? kShortStepsAgain : kShortSteps,
                                kShortStepsTimesDevices / of.devices);
  return std::min(steps_of_default(of), static_cast<std::uint64_t>(steps));
}

std::size_t chains_of_default(const ImprovementCase& of, std::uint64_t steps) {
  if (steps < kStepsOfChains) return 1;
  const bool few = static_cast<double>(of.slices) <= 2 * kFewSlices;
  const bool anyway = of.devices > kDevicesOfFewSlices && (of.groups || of.links);
  return few && !anyway && of.devices > kQuickDevices ? kChainsOfFewSlices : kDefaultChains;
}

}  // namespace

std::vector<AnnealingOptions> improvement_chains(ImprovementRound round,
                                                 const ImprovementCase& of) {
  std::uint64_t steps = kThoroughSteps;
  std::size_t count = kThoroughChains;
  if (round == ImprovementRound::kShort) {
    steps = steps_of_short(of);
    count = 1;
  } else if (round == ImprovementRound::kDefault) {
    steps = steps_of_default(of);
    count = chains_of_default(of, steps);
  }
  std::vector<AnnealingOptions> chains;
  for (std::size_t chain = 0; chain < count; ++chain) {
    const bool hot = chain > 0 || round == ImprovementRound::kLongHot;
    chains.push_back({.steps = steps,
                      .hottest = hot ? kHot : kWarm,
                      .halves = chain % 2 == 0 ? Halves::kJoined : Halves::kKept,
                      .soften_ids = chain % 3 == 1});
  }
  return chains;
}

}  // namespace neuroshard
