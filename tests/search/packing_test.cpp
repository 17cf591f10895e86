// Packing by size: the rules against placing slice by slice, the search against trying everything.
#include "search/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <stop_token>

#include "core/base/random.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using testing::repetitions;

PackingProblem problem_of(const std::vector<std::int64_t>& sizes, int devices,
                          std::int64_t memory_bytes) {
  std::map<std::int64_t, std::int64_t, std::greater<>> slices;
  for (const std::int64_t size : sizes) ++slices[size];
  PackingProblem problem{.classes = {}, .devices = devices, .memory_bytes = memory_bytes};
  for (const auto& [size, count] : slices) problem.classes.push_back({size, count});
  return problem;
}

std::vector<std::int64_t> used_bytes(const PackingProblem& problem, const Packing& packing) {
  std::vector<std::int64_t> used(static_cast<std::size_t>(problem.devices), 0);
  for (const PackedSlices& packed : packing) {
    used.at(packed.device) += packed.slices * problem.classes.at(packed.size_class).size_bytes;
  }
  return used;
}

void expect_packs(const PackingProblem& problem, const Packing& packing) {
  std::vector<std::int64_t> slices(problem.classes.size(), 0);
  for (const PackedSlices& packed : packing) {
    EXPECT_GT(packed.slices, 0);
    slices.at(packed.size_class) += packed.slices;
  }
  for (std::size_t c = 0; c < slices.size(); ++c) EXPECT_EQ(slices[c], problem.classes[c].slices);
  for (const std::int64_t used : used_bytes(problem, packing)) {
    EXPECT_LE(used, problem.memory_bytes);
  }
}

// Bytes on each device, or nothing if a slice finds no room.
std::optional<std::vector<std::int64_t>> slice_by_slice(const PackingProblem& problem,
                                                        PackingRule rule) {
  std::vector<std::int64_t> used(static_cast<std::size_t>(problem.devices), 0);
  for (const auto& [size, slices] : problem.classes) {
    for (std::int64_t slice = 0; slice < slices; ++slice) {
      auto chosen = used.end();
      for (auto device = used.begin(); device != used.end(); ++device) {
        if (*device + size > problem.memory_bytes) continue;
        if (chosen == used.end() || (rule == PackingRule::kBestFit && *device > *chosen) ||
            (rule == PackingRule::kWorstFit && *device < *chosen)) {
          chosen = device;
        }
      }
      if (chosen == used.end()) return std::nullopt;
      *chosen += size;
    }
  }
  return used;
}

bool packable(const PackingProblem& problem, std::vector<std::int64_t> sizes,
              std::vector<std::int64_t>& used) {
  if (sizes.empty()) return true;
  const std::int64_t size = sizes.back();
  sizes.pop_back();
  for (std::int64_t& bytes : used) {
    if (bytes + size > problem.memory_bytes) continue;
    bytes += size;
    if (packable(problem, sizes, used)) return true;
    bytes -= size;
    if (bytes == 0) break;  // Other empty devices are the same.
  }
  return false;
}

// Slices that fill every device up to `waste_bytes`.
std::vector<std::int64_t> cut_devices(Random& random, int devices, std::int64_t memory_bytes,
                                      std::int64_t waste_bytes, std::uint64_t most_slices) {
  std::vector<std::int64_t> sizes;
  for (int device = 0; device < devices; ++device) {
    const auto used = memory_bytes - static_cast<std::int64_t>(
                                         random.below(static_cast<std::uint64_t>(waste_bytes) + 1));
    std::vector<std::int64_t> cuts = {0, used};
    for (std::uint64_t more = random.below(most_slices); more > 0; --more) {
      cuts.push_back(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(used))));
    }
    std::sort(cuts.begin(), cuts.end());
    for (std::size_t i = 1; i < cuts.size(); ++i) {
      if (cuts[i] > cuts[i - 1]) sizes.push_back(cuts[i] - cuts[i - 1]);
    }
  }
  return sizes;
}

TEST(PackDecreasing, DoesWhatItsRuleSays) {
  int packed = 0;
  int failed = 0;
  for (std::uint64_t seed = 0; seed < repetitions(2000); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int devices = 1 + static_cast<int>(random.below(6));
    std::vector<std::int64_t> sizes;
    for (std::uint64_t left = 1 + random.below(30); left > 0; --left) {
      sizes.push_back(1 + static_cast<std::int64_t>(random.below(12)));
    }
    std::int64_t bytes = 0;
    for (const std::int64_t size : sizes) bytes += size;
    const PackingProblem problem =
        problem_of(sizes, devices, bytes / devices + static_cast<std::int64_t>(random.below(5)));
    for (const PackingRule rule :
         {PackingRule::kFirstFit, PackingRule::kBestFit, PackingRule::kWorstFit}) {
      const auto packing = pack_decreasing(problem, rule);
      const auto expected = slice_by_slice(problem, rule);
      ASSERT_EQ(packing.has_value(), expected.has_value());
      packing ? ++packed : ++failed;
      if (!packing) continue;
      expect_packs(problem, *packing);
      EXPECT_EQ(used_bytes(problem, *packing), *expected);
    }
  }
  EXPECT_GT(packed, NEUROSHARD_SANITIZED ? 0 : 100);
  EXPECT_GT(failed, NEUROSHARD_SANITIZED ? 0 : 100);
}

TEST(PackingSearch, IsRightAboutEveryTinyProblem) {
  int impossible = 0;
  int only_searched = 0;
  for (std::uint64_t seed = 0; seed < repetitions(3000); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int devices = 2 + static_cast<int>(random.below(3));
    const auto memory_bytes = 10 + static_cast<std::int64_t>(random.below(40));
    std::vector<std::int64_t> sizes = cut_devices(random, devices, memory_bytes, 2, 4);
    // Some have no packing: grown, though not beyond what all devices hold together.
    if (random.below(2) == 0) sizes[random.below(sizes.size())] += 1;
    const PackingProblem problem = problem_of(sizes, devices, memory_bytes);
    std::vector<std::int64_t> used(static_cast<std::size_t>(devices), 0);
    std::sort(sizes.begin(), sizes.end());
    const bool possible = packable(problem, sizes, used);
    const PackingSearchResult result = search_packing(problem, 1'000'000, {});
    ASSERT_EQ(result.outcome, possible ? PackingOutcome::kPacked : PackingOutcome::kImpossible);
    if (!possible) {
      ++impossible;
      continue;
    }
    expect_packs(problem, result.packing);
    only_searched += !pack_decreasing(problem, PackingRule::kFirstFit) &&
                     !pack_decreasing(problem, PackingRule::kBestFit);
  }
  EXPECT_GT(impossible, NEUROSHARD_SANITIZED ? 0 : 20);
  EXPECT_GT(only_searched, NEUROSHARD_SANITIZED ? 0 : 20);
}

TEST(PackingSearch, FillsDevicesToThePermille) {
  std::uint64_t packed = 0;
  std::uint64_t packed_by_rules = 0;
  const std::uint64_t problems = repetitions(300);
  for (std::uint64_t seed = 0; seed < problems; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, 1);
    const int devices = 2 + static_cast<int>(random.below(15));
    const PackingProblem problem =
        problem_of(cut_devices(random, devices, 1'000'000, 1000, 8), devices, 1'000'000);
    packed_by_rules += pack_decreasing(problem, PackingRule::kFirstFit).has_value() ||
                       pack_decreasing(problem, PackingRule::kBestFit).has_value();
    const PackingSearchResult result = search_packing(problem, 400'000, {});
    ASSERT_NE(result.outcome, PackingOutcome::kImpossible);
    if (result.outcome != PackingOutcome::kPacked) continue;
    expect_packs(problem, result.packing);
    ++packed;
  }
  EXPECT_GE(packed, problems * 9 / 10);
  EXPECT_LE(packed_by_rules, problems / 2);
}

TEST(PackingSearch, TakesNoStepsToSeeThatDevicesAreTooFew) {
  // One slice is too large; too many are more than a half; beside some nothing else has room.
  const std::vector<PackingProblem> short_of_devices = {
      {.classes = {{101, 1}, {10, 3}}, .devices = 8, .memory_bytes = 100},
      {.classes = {{51, 9}, {1, 3}}, .devices = 8, .memory_bytes = 100},
      {.classes = {{80, 4}, {30, 14}}, .devices = 8, .memory_bytes = 100},
      {.classes = {{90, 3}, {60, 4}, {40, 5}, {20, 4}}, .devices = 8, .memory_bytes = 100}};
  for (const PackingProblem& problem : short_of_devices) {
    SCOPED_TRACE(problem.classes.front().size_bytes);
    EXPECT_EQ(search_packing(problem, 0, {}).outcome, PackingOutcome::kImpossible);
  }
  const PackingProblem just_enough{
      .classes = {{90, 3}, {60, 4}, {40, 4}, {20, 5}}, .devices = 8, .memory_bytes = 100};
  EXPECT_EQ(search_packing(just_enough, 0, {}).outcome, PackingOutcome::kGaveUp);
  EXPECT_EQ(search_packing(just_enough, 1000, {}).outcome, PackingOutcome::kPacked);
}

TEST(PackingSearch, EndsAfterSoManyNodesAndWhenItIsStopped) {
  Random random(7);
  // More than devices hold in pairs, less than they hold by the sum: only trying shows it.
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < 61; ++i) {
    sizes.push_back(3'334 + static_cast<std::int64_t>(random.below(1000)) * 3);
  }
  const PackingProblem hard = problem_of(sizes, 30, 10'000);
  EXPECT_EQ(search_packing(hard, 10'000, {}).outcome, PackingOutcome::kGaveUp);
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(search_packing(hard, UINT64_MAX, {std::nullopt, source.get_token()}).outcome,
            PackingOutcome::kGaveUp);
}

TEST(PackingSearch, HoldsAgainstHugeNumbers) {
  const std::int64_t huge = std::int64_t{1} << 59;
  const PackingProblem fits{
      .classes = {{huge, 2}}, .devices = 1024, .memory_bytes = std::int64_t{1} << 62};
  EXPECT_EQ(search_packing(fits, 1000, {}).outcome, PackingOutcome::kPacked);
  const PackingProblem too_large{.classes = {{huge, 2}}, .devices = 2, .memory_bytes = huge - 1};
  EXPECT_EQ(search_packing(too_large, 1000, {}).outcome, PackingOutcome::kImpossible);
  const PackingProblem many{
      .classes = {{1, std::int64_t{1} << 40}}, .devices = 2, .memory_bytes = huge};
  EXPECT_EQ(pack_decreasing(many, PackingRule::kFirstFit)->size(), 1U);
  EXPECT_EQ(pack_decreasing(many, PackingRule::kBestFit)->size(), 1U);
  EXPECT_EQ(search_packing(many, 1000, {}).outcome, PackingOutcome::kPacked);
}

}  // namespace
}  // namespace neuroshard
