#include "search/learned_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/kernels/cpu_kernels.h"
#include "every_cpu_backend.h"
#include "message_of.h"
#include "neuroshard/fingerprint.h"
#include "neuroshard/planner.h"
#include "plain_table.h"
#include "random_policies.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::plain_table;
using testing::random_models;
using testing::random_policy;
using testing::random_task;

constexpr std::array kLearned = {Algorithm::kDreamshard, Algorithm::kAutoshard};

PlannerOptions learned_options(Algorithm algorithm, const std::string& backend = "auto") {
  return {
      .algorithm = algorithm, .backend = backend, .threads = 1, .policy = random_policy(algorithm)};
}

class EveryBackendByPolicy : public testing::EveryCpuBackend {};

TEST_P(EveryBackendByPolicy, PlacesAlike) {
  const CostModels models = random_models(3);
  for (const Algorithm algorithm : kLearned) {
    const Planner planner(models, learned_options(algorithm, GetParam()));
    const Planner scalar(models, learned_options(algorithm, "scalar"));
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const Task task = random_task(seed);
      EXPECT_EQ(planner.plan(task).plan, scalar.plan(task).plan) << name_of(algorithm) << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, EveryBackendByPolicy, ::testing::ValuesIn(cpu_backends()));

TEST(LearnedPlacement, PacksByMemoryWhereThePolicyLeavesNoRoom) {
  // Two devices of 8 MB for 8, 4 and 4 MB: no two orders of placement fit but one.
  Task task{.tables = {plain_table(62'500, 16, 1.0), plain_table(125'000, 16, 1.0),
                       plain_table(62'500, 16, 1.0)},
            .devices = 2,
            .memory_bytes = 8'000'000};
  std::size_t stuck = 0;
  for (const Algorithm algorithm : kLearned) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      PlannerOptions options = learned_options(algorithm);
      options.policy = random_policy(algorithm, seed);
      const PackedPolicy policy(kScalarKernels, *options.policy);
      stuck += place_by_policy(policy, task) ? 0 : 1;
      const PlanResult result = Planner(random_models(1), options).plan(task);
      ASSERT_TRUE(result.plan);
      EXPECT_TRUE(result.cost.fits_memory);
    }
  }
  EXPECT_GT(stuck, 0U);
}

TEST(LearnedPlacement, NeedsAPolicyOfItsKind) {
  const CostModels models = random_models(1);
  const auto error = [&](const PlannerOptions& options) {
    return message_of([&] { (void)Planner(models, options); });
  };
  EXPECT_THAT(error({.algorithm = Algorithm::kDreamshard}),
              HasSubstr("algorithm dreamshard needs a policy; give its file (--policy), which "
                        "'neuroshard train policy --algorithm dreamshard' makes"));
  PlannerOptions options = learned_options(Algorithm::kAutoshard);
  options.algorithm = Algorithm::kDreamshard;
  EXPECT_THAT(error(options), HasSubstr("the policy is of algorithm autoshard, and the plan is "
                                        "asked of dreamshard"));
}

TEST(LearnedPlacement, IsToldApartByItsWeights) {
  const CostModels models = random_models(1);
  const Task task = random_task(1);
  for (const Algorithm algorithm : kLearned) {
    PlannerOptions options = learned_options(algorithm);
    const std::uint64_t one = fingerprint(task, options, models);
    EXPECT_EQ(fingerprint(task, options, models), one);
    options.policy = random_policy(algorithm, 2);
    EXPECT_NE(fingerprint(task, options, models), one);
  }
}

}  // namespace
}  // namespace neuroshard
