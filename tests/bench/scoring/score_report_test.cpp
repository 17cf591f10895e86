#include "bench/scoring/score_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bench/scoring/fma_ceiling.h"
#include "bench/scoring/scoring_input.h"
#include "golden.h"
#include "neuroshard/error.h"

namespace neuroshard::bench {
namespace {

using ::testing::HasSubstr;

std::vector<ScoreTimes> times_of_two() {
  return {{.scorer = kCeiling, .threads = 1, .per_second = {50.0}, .per_cpu_second = {90.0, 100.0}},
          {.scorer = "fast",
           .batch = 64,
           .threads = 1,
           .per_second = {4.0, 5.0, 6.0},
           .per_cpu_second = {8.0, 8.0, 9.0}},
          {.scorer = "slow",
           .batch = 8,
           .threads = 1,
           .per_second = {1.0, 1.0, 1.0},
           .per_cpu_second = {2.0, 2.0, 2.0}}};
}

TEST(ScoreReport, ShareOfTheCeilingGoesByCpuTimeAndTheBestCeiling) {
  const auto times = times_of_two();
  const ScoreCeilings ceilings = ceilings_of(times);
  EXPECT_EQ(ceilings.per_core, 100.0);
  EXPECT_DOUBLE_EQ(share_of_ceiling(times[1], ceilings, 10.0).median, 0.8);
  EXPECT_DOUBLE_EQ(share_of_ceiling(times[1], ceilings, 10.0).best, 0.9);
  EXPECT_TRUE(std::isnan(share_of_ceiling(times[1], {}, 10.0).median));
  ScoreTimes on_gpu = times[1];
  on_gpu.on_gpu = true;
  EXPECT_DOUBLE_EQ(share_of_ceiling(on_gpu, {.per_core = 1.0, .gpu = 200.0}, 10.0).median, 0.25);
}

TEST(ScoreReport, RatiosToABaselineThatWasTimedOnSmallerBatches) {
  const auto times = times_of_two();
  const std::vector<std::string> baselines = {"slow"};
  const std::string table = score_table(times, 1, baselines, ceilings_of(times), 10.0);
  EXPECT_THAT(table, HasSubstr("vs slow"));
  EXPECT_THAT(table, HasSubstr("4.00x"));   // 8 against 2.
  EXPECT_THAT(table, HasSubstr("40.0 %"));  // Spread: 2 of 5.
  EXPECT_THAT(table, HasSubstr("80.0 %"));
  EXPECT_THAT(score_chart(times, ceilings_of(times), 10.0), HasSubstr("FMA ceiling"));
}

TEST(ScoreReport, MultiplyAddsOfTheUsualHead) {
  EXPECT_EQ(multiply_adds_per_shard(testing::golden_models().compute.head), 2112.0);
}

class Scorers : public ::testing::Test {
 protected:
  const CostModels& models_ = testing::golden_models();
  ScoringInput input_ =
      random_scoring_input(*make_cpu_backend(models_), testing::golden_tables(), 60, 200, 5, 3);
};

TEST_F(Scorers, AllAgreeWithTheScalarBackend) {
  std::vector<ScorerKind> kinds;
  for (const std::string& name : available_cpu_backends()) {
    kinds.push_back(backend_scorer(models_, name));
  }
  for (ScorerKind& kind : openblas_scorers(models_)) kinds.push_back(std::move(kind));
  EXPECT_NO_THROW(check_scorers(kinds, input_, models_));
}

// The costs of another scorer, one of them off.
class WrongScorer final : public Scorer {
 public:
  WrongScorer(std::unique_ptr<Scorer> right, float factor)
      : right_(std::move(right)), factor_(factor) {}
  void prepare(const ShardBatch& batch) override { right_->prepare(batch); }
  void score() override { right_->score(); }
  void read_costs(std::span<float> cost_ms) override {
    right_->read_costs(cost_ms);
    cost_ms.back() *= factor_;
  }

 private:
  std::unique_ptr<Scorer> right_;
  float factor_;
};

ScorerKind wrong_scorer(const CostModels& models, bool exact, float factor) {
  return {.name = "wrong",
          .exact = exact,
          .on_gpu = false,
          .make = [right = backend_scorer(models, "scalar"), factor](const auto& input) {
            return std::make_unique<WrongScorer>(right.make(input), factor);
          }};
}

TEST_F(Scorers, OneWrongCostIsFound) {
  const std::vector slightly = {wrong_scorer(models_, false, 1.0F + 1e-6F)};
  EXPECT_NO_THROW(check_scorers(slightly, input_, models_));
  const std::vector inexact = {wrong_scorer(models_, true, 1.0F + 1e-6F)};
  EXPECT_THROW(check_scorers(inexact, input_, models_), Error);
  const std::vector far_off = {wrong_scorer(models_, false, 1.0F + 1e-3F)};
  EXPECT_THROW(check_scorers(far_off, input_, models_), Error);
}

TEST_F(Scorers, ShardsAreDrawnFromAllPieces) {
  EXPECT_EQ(input_.offsets.size(), 201U);
  EXPECT_EQ(input_.piece_ids.size(), 1000U);
  EXPECT_EQ(input_.first(10).size(), 10U);
  EXPECT_EQ(input_.first(10).piece_ids.size(), 50U);
  std::vector<int> used(60);
  for (const std::uint32_t id : input_.piece_ids) ++used.at(id);
  EXPECT_EQ(std::count(used.begin(), used.end(), 0), 0);
}

TEST(FmaCeiling, CountsWhatItDoes) {
  const std::uint64_t once = run_multiply_adds(1000);
  if (once == 0) GTEST_SKIP() << "no AVX2 here";
  EXPECT_EQ(once, 1000U * (multiply_add_instructions() == "AVX2" ? 96U : 192U));
  EXPECT_EQ(run_multiply_adds(0), 0U);
}

}  // namespace
}  // namespace neuroshard::bench
