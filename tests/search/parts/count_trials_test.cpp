#include "search/parts/count_trials.h"

#include <gtest/gtest.h>

namespace neuroshard {
namespace {

std::vector<CutCandidate> candidates_of(const std::vector<double>& gains) {
  std::vector<CutCandidate> candidates;
  for (const double gain : gains) {
    candidates.push_back(
        {.table = static_cast<std::uint32_t>(10 + candidates.size()), .gain = gain});
  }
  return candidates;
}

std::vector<std::size_t> all_numbers(CountTrials trials) {
  std::vector<std::size_t> numbers;
  while (const auto number = trials.next()) numbers.push_back(*number);
  return numbers;
}

TEST(CountTrials, BeginWithWhatGains) {
  const CountTrials trials(candidates_of({9, 8, 3, 1.5, 1.2, 0.7, 0.6, 0.2}), 100);
  EXPECT_EQ(all_numbers(trials), (std::vector<std::size_t>{5, 3, 7}));
  EXPECT_TRUE(all_numbers(CountTrials({}, 100)).empty());
  EXPECT_TRUE(all_numbers(CountTrials(candidates_of({0.4, 0.1}), 100)).empty());
}

TEST(CountTrials, GoOnBesideTheBest) {
  CountTrials trials(candidates_of(std::vector<double>(20, 1.5)), 100);
  EXPECT_EQ(trials.next(), 20U);
  trials.last_is_best();
  EXPECT_EQ(trials.next(), 10U);
  trials.last_is_best();
  EXPECT_EQ(trials.next(), 15U);  // The gaps beside it are equally wide: the one above.
  EXPECT_EQ(trials.next(), 5U);
  EXPECT_EQ(trials.next(), 13U);
  trials.last_is_best();
  EXPECT_EQ(trials.next(), 11U);
}

TEST(CountTrials, GoOnBesideWhatWasBestBefore) {
  CountTrials trials(candidates_of({1.5, 1.4, 0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1}), 100);
  trials.start_from(6);  // Those of a gain of 0.5 at least.
  EXPECT_EQ(trials.next(), 2U);
  EXPECT_EQ(trials.next(), 8U);
  EXPECT_EQ(trials.next(), 4U);
  trials.last_is_best();
  EXPECT_EQ(trials.next(), 5U);
}

TEST(CountTrials, EndWhenThereWereEnough) {
  EXPECT_EQ(all_numbers({candidates_of({9, 1.5, 0.7}), 2}).size(), 2U);
}

TEST(CountTrials, TryAllBesideThoseThatCount) {
  CountTrials trials(candidates_of({9, 1.5, 0.7, 0.1}), 2);
  EXPECT_EQ(trials.size(), 4U);
  EXPECT_EQ(trials.try_all(), 4U);
  trials.last_is_best();
  EXPECT_EQ(all_numbers(trials), (std::vector<std::size_t>{2, 1}));
}

TEST(CountTrials, KnowTheirTables) {
  const CountTrials trials(candidates_of({9, 1.5, 0.7}), 2);
  EXPECT_EQ(trials.tables(2, {}), (std::vector<std::uint32_t>{10, 11}));
}

TEST(CountTrials, LeaveOutTablesWithoutRoom) {
  std::vector<CutCandidate> candidates = candidates_of({9, 8, 3, 1.5});
  for (std::size_t i = 0; const std::int64_t bytes : {5, 40, 10, 5}) {
    candidates[i++].device_bytes = bytes;
  }
  candidates[3].more_bytes = 7.0;
  using Tables = std::vector<std::uint32_t>;
  const CountTrials trials(candidates, 4);
  EXPECT_EQ(trials.tables(4, {.of_device = 60, .of_all = 7.0}), (Tables{10, 11, 12, 13}));
  EXPECT_EQ(trials.tables(4, {.of_device = 60, .of_all = 6.0}), (Tables{10, 11, 12}));
  EXPECT_EQ(trials.tables(3, {.of_device = 60, .of_all = 6.0}), (Tables{10, 11, 12}));
  const Tables others = {11};
  EXPECT_EQ(trials.tables(4, {.of_device = 44, .of_all = 7.0}, others), (Tables{10, 12, 13}));
  // Half of what is left of all devices is for the other tables.
  EXPECT_EQ(trials.tables(4, {.of_device = 44, .of_all = 13.0}), (Tables{10, 12}));
  EXPECT_EQ(trials.tables(4, {.of_device = 44, .of_all = 14.0}), (Tables{10, 12, 13}));
  EXPECT_EQ(trials.tables(4, {.of_device = 19, .of_all = 13.0}), (Tables{10, 12}));
  EXPECT_EQ(trials.tables(4, {.of_device = 4, .of_all = 7.0}), Tables{});
}

}  // namespace
}  // namespace neuroshard
