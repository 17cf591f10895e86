#include "weights/training/policies/train_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden.h"
#include "message_of.h"
#include "neuroshard/policy_file.h"
#include "neuroshard/weights.h"
#include "weights/lookups/table_population.h"

namespace neuroshard::training {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

std::vector<Table> drawn_tables(int count) {
  std::vector<Table> tables;
  for (const PopulationTable& drawn : draw_population({.tables = count})) {
    tables.push_back(drawn.table);
  }
  return tables;
}

PolicyTrainingOptions short_training(const std::string& algorithm) {
  return {.algorithm = algorithm, .hardware = hardware_named("a100"), .iterations = 2, .seed = 3};
}

class TrainPolicyOf : public ::testing::TestWithParam<const char*> {};

TEST_P(TrainPolicyOf, LowersCostsAndGoesOnWhereItWasStopped) {
  const std::vector<Table> tables = drawn_tables(60);
  PolicyTrainingOptions options = short_training(GetParam());
  const TrainedPolicy whole = train_policy(tables, options);
  ASSERT_EQ(whole.cost_ms.size(), 3U);
  EXPECT_GT(whole.best_iteration, 0);
  EXPECT_EQ(algorithm_of(whole.policy), GetParam());

  std::string state;
  options.on_state = [&](const std::string& now) { state = now; };
  options.should_stop = [&, asked = 0]() mutable { return ++asked == 2; };
  EXPECT_EQ(train_policy(tables, options).cost_ms.size(), 2U);
  options.should_stop = nullptr;
  options.on_state = nullptr;
  options.resume_from = state;
  options.resume_name = "state";
  const TrainedPolicy resumed = train_policy(tables, options);
  EXPECT_EQ(resumed.cost_ms, whole.cost_ms);
  EXPECT_EQ(serialize_policy(resumed.policy), serialize_policy(whole.policy));
  options.seed = 4;
  EXPECT_THAT(message_of([&] { (void)train_policy(tables, options); }), HasSubstr("state: "));
}

TEST_P(TrainPolicyOf, LearnsFromCostModels) {
  const std::vector<Table> tables = drawn_tables(60);
  PolicyTrainingOptions options = short_training(GetParam());
  const TrainedPolicy analytic = train_policy(tables, options);
  options.models = builtin_weights();
  const TrainedPolicy predicted = train_policy(tables, options);
  EXPECT_GT(predicted.best_iteration, 0);
  EXPECT_EQ(predicted.policy.metadata.at("source"), "cost models");
  EXPECT_NE(serialize_policy(predicted.policy), serialize_policy(analytic.policy));
  // The models learned these formulas.
  EXPECT_NEAR(predicted.cost_ms[0] / analytic.cost_ms[0], 1.0, 0.15);
}

INSTANTIATE_TEST_SUITE_P(Policies, TrainPolicyOf, ::testing::Values("dreamshard", "autoshard"));

TEST(TrainPolicy, NamesOptionsThatAreWrong) {
  const std::vector<Table> tables = drawn_tables(40);
  PolicyTrainingOptions options = short_training("random");
  const auto error = [&](std::span<const Table> of) {
    return message_of([&] { (void)train_policy(of, options); });
  };
  EXPECT_THAT(error(tables),
              HasSubstr("there is no policy of algorithm 'random'; give dreamshard"));
  options.algorithm = "autoshard";
  EXPECT_THAT(error(std::span(tables).first(39)), HasSubstr("there are 39 tables"));
  options.models = testing::golden_models();
  options.models->dense_comm = {{16, options.models->comm_for(16)}};
  EXPECT_THAT(error(tables), HasSubstr("--weights: policies train on 2, 4 and 8 devices"));
  options.iterations = 0;
  EXPECT_THAT(error(tables), HasSubstr("--iterations is 0; give between 1 and 100000"));
}

}  // namespace
}  // namespace neuroshard::training
