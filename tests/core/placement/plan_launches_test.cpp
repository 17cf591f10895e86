// Launches of a single plan, and the searches that came of them.
#include "core/placement/plan_launches.h"

#include <gtest/gtest.h>

#include <functional>

namespace neuroshard {
namespace {

TEST(PlanLaunches, AreNoMoreThanSaid) {
  PlanLaunches launches(2);
  EXPECT_FALSE(launches.take(3));
  EXPECT_TRUE(launches.take(1));
  EXPECT_FALSE(launches.take(2));
  EXPECT_TRUE(launches.any());
  EXPECT_TRUE(launches.take(1));
  EXPECT_FALSE(launches.any());
  EXPECT_FALSE(launches.take(1));
  EXPECT_TRUE(PlanLaunches(2).take(2));
  EXPECT_FALSE(PlanLaunches(0).any());
}

/// A beam search, with what it borrows.
struct Question {
  int devices = 4;
  std::int64_t memory_bytes = 1000;
  std::vector<float> embeddings = {0.5F, 1.5F};
  std::vector<std::int32_t> dims = {8, 4};
  std::vector<std::int64_t> size_bytes = {80, 40};
  std::vector<std::int64_t> dim_limits = {10, 12};
  std::vector<std::uint32_t> pieces = {0, 1};
  std::vector<std::uint32_t> order = {1, 0};
  std::vector<float> piece_cost_ms = {2.0F, 1.0F};
  std::vector<std::uint8_t> may_halve = {1, 0};
  int beam_width = 3;
  int candidates = 10;
  int max_splits = 5;

  [[nodiscard]] PlacementProblem problem() const {
    return {.devices = devices,
            .memory_bytes = memory_bytes,
            .embeddings = embeddings,
            .dims = dims,
            .size_bytes = size_bytes,
            .dim_limits = dim_limits};
  }
  [[nodiscard]] BeamProblem beam() const {
    return {.pieces = pieces,
            .order = order,
            .piece_cost_ms = piece_cost_ms,
            .may_halve = may_halve,
            .beam_width = beam_width,
            .candidates = candidates,
            .max_splits = max_splits};
  }
};

TEST(PlanLaunches, KnowTheSearchesThatAreTheSameInAll) {
  const Question known;
  PlanLaunches launches(2);
  EXPECT_EQ(launches.outcome_of(known.problem(), known.beam()), nullptr);
  const BeamOutcome outcome{
      .result = {.cost_ms = 3.5, .limit = 1}, .column_splits = {0}, .candidates = 7};
  launches.remember(known.problem(), known.beam(), outcome);
  const Question same;
  const BeamOutcome* found = launches.outcome_of(same.problem(), same.beam());
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->result, outcome.result);
  EXPECT_EQ(found->column_splits, outcome.column_splits);
  EXPECT_EQ(found->candidates, outcome.candidates);

  const std::function<void(Question&)> changes[] = {
      [](Question& q) { q.devices = 5; },           [](Question& q) { q.memory_bytes = 1001; },
      [](Question& q) { q.embeddings[1] = 1.25F; }, [](Question& q) { q.dims[0] = 16; },
      [](Question& q) { q.size_bytes[1] = 41; },    [](Question& q) { q.dim_limits[0] = 11; },
      [](Question& q) { q.dim_limits.pop_back(); }, [](Question& q) { q.pieces = {1, 1}; },
      [](Question& q) { q.order = {0, 1}; },        [](Question& q) { q.piece_cost_ms[0] = 2.5F; },
      [](Question& q) { q.may_halve[1] = 1; },      [](Question& q) { q.beam_width = 2; },
      [](Question& q) { q.candidates = 9; },        [](Question& q) { q.max_splits = 6; },
  };
  for (std::size_t i = 0; i < std::size(changes); ++i) {
    SCOPED_TRACE(i);
    Question other;
    changes[i](other);
    EXPECT_EQ(launches.outcome_of(other.problem(), other.beam()), nullptr);
  }
}

TEST(PlanLaunches, RememberNothingThatIsNotAskedAgain) {
  const Question asked;
  PlanLaunches launches(2, /*asked_again=*/false);
  launches.remember(asked.problem(), asked.beam(), {});
  EXPECT_EQ(launches.outcome_of(asked.problem(), asked.beam()), nullptr);
}

}  // namespace
}  // namespace neuroshard
