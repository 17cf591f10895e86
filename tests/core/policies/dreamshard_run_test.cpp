#include "core/policies/dreamshard_run.h"

#include "core/policies/policy_features.h"
#include "core/policies/published_run.h"
#include "every_cpu_backend.h"
#include "neuroshard/policy_file.h"
#include "plain_table.h"

namespace neuroshard {
namespace {

using nlohmann::json;
using testing::expect_near;
using testing::published_answers;
using testing::published_tables;

class DreamshardRuns : public testing::EveryCpuBackend {};

void expect_costs(const DreamshardCosts& costs, const json& expected) {
  for (std::size_t i = 0; i < costs.size(); ++i) expect_near(costs[i], expected[i]);
}

void expect_recorded_placement(const CpuKernels& kernels, const PackedDreamshard& networks,
                               const std::vector<Table>& tables, const json& recorded) {
  const std::size_t devices = recorded["devices"];
  DreamshardRun run(kernels, networks, tables, devices);
  EXPECT_EQ(run.order(), recorded["table_order"].get<std::vector<std::size_t>>());
  for (std::size_t t = 0; t < tables.size(); ++t) {
    expect_costs(run.table_costs(t), recorded["single_forward_comm_backward"][t]);
  }
  for (const json& step : recorded["steps"]) {
    const auto legal = step["legal"].get<std::vector<std::size_t>>();
    const std::span<const float> logits = run.logits();
    for (std::size_t i = 0; i < legal.size(); ++i) {
      expect_near(logits[legal[i]], step["logits"][i]);
    }
    if (legal.empty()) break;
    const std::size_t chosen = step["action"];
    EXPECT_TRUE(testing::is_best(step["logits"], legal, chosen, logits));
    run.place(chosen);
  }
  if (recorded["complete"]) expect_near(run.overall_ms(), recorded["overall"]);
}

TEST_P(DreamshardRuns, PlaceAsThePublishedProgramDoes) {
  testing::for_each_recorded<DreamshardPolicy, PackedDreamshard>(
      "dreamshard.json", "dreamshard_trained.pt",
      [&](const PackedDreamshard& networks, const std::vector<Table>& tables,
          const json& recorded) {
        expect_recorded_placement(select_cpu_kernels(GetParam()), networks, tables, recorded);
      });
}

TEST_P(DreamshardRuns, AgreeToTheLastBit) {
  const json answers = published_answers("dreamshard.json");
  const PlacementPolicy policy = load_policy(testing::policy_path("dreamshard_trained.pt"));
  const PackedDreamshard networks(std::get<DreamshardPolicy>(policy.networks));
  const auto tables = published_tables(answers["tasks"]["3"]);
  DreamshardRun run(select_cpu_kernels(GetParam()), networks, tables, 3);
  DreamshardRun scalar(kScalarKernels, networks, tables, 3);
  ASSERT_EQ(run.order(), scalar.order());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    ASSERT_TRUE(std::ranges::equal(run.logits(), scalar.logits())) << i;
    run.place(i % 3);
    scalar.place(i % 3);
  }
  EXPECT_EQ(run.overall_ms(), scalar.overall_ms());
}

INSTANTIATE_TEST_SUITE_P(Policies, DreamshardRuns, ::testing::ValuesIn(cpu_backends()));

TEST(PolicyFeatures, AreThePublishedOnes) {
  const json answers = published_answers("dreamshard.json");
  const AlignedVector<float> features =
      dreamshard_features(published_tables(answers["tasks"]["0"]));
  for (std::size_t t = 0; t < answers["features"].size(); ++t) {
    for (std::size_t i = 0; i < kPolicyFeatures; ++i) {
      expect_near(features[t * kPolicyFeatureStride + i], answers["features"][t][i]);
    }
  }
}

TEST(PolicyFeatures, OfEqualTablesAreZeroWhereTheyAreNormalized) {
  const std::vector<Table> tables(3, testing::plain_table(100, 16, 2.5));
  const AlignedVector<float> features = dreamshard_features(tables);
  EXPECT_EQ(std::vector<float>(features.begin(), features.begin() + 6),
            (std::vector<float>{16.0F, 0.0F, 0.0F, 0.0F, 0.0F, 1.0F}));
}

}  // namespace
}  // namespace neuroshard
