#include "weights/training/policies/dreamshard_trainee.h"

#include "core/policies/policy_features.h"
#include "core/policies/policy_parts.h"
#include "neuroshard/policy_file.h"
#include "weights/training/policies/recorded_steps.h"

namespace neuroshard::training {
namespace {

using nlohmann::json;
using testing::published_answers;
using testing::published_tables;

/// The tables' features behind a row of zeros.
std::vector<float> rows_behind_zeros(const json& tables) {
  const AlignedVector<float> features = dreamshard_features(published_tables(tables));
  std::vector<float> rows(kPolicyFeatureStride, 0.0F);
  rows.insert(rows.end(), features.begin(), features.end() - kPolicyFeatureStride);
  return rows;
}

DreamshardCostBatch recorded_batch(const json& step) {
  DreamshardCostBatch batch;
  const std::size_t devices = step["devices"];
  const auto add_shards = [&](std::size_t plan) {
    const std::size_t first = batch.shards.size();
    batch.shards.resize(first + devices);
    std::uint32_t row = 0;
    for (const std::size_t device : step["plans"][plan])
      batch.shards[first + device].push_back(++row);
    return first;
  };
  for (const std::size_t plan : step["overall_batch"]) {
    batch.placements.push_back({add_shards(plan), devices, step["overall_ms"][plan]});
  }
  for (const std::size_t k : step["kernel_batch"]) {
    const json& ms = step["latency_ms"][k / devices][k % devices];
    batch.devices.push_back({add_shards(k / devices) + k % devices, {ms[0], ms[2], ms[3]}});
  }
  return batch;
}

TEST(DreamshardTrainee, TakesTheStepsOfThePublishedProgram) {
  const json answers = published_answers("dreamshard.json");
  const json& step = answers["training"];
  const PlacementPolicy start = load_policy(testing::policy_path("dreamshard_start.pt"));
  DreamshardTrainee trainee(std::get<DreamshardPolicy>(start.networks));
  const std::vector<float> features = rows_behind_zeros(answers["tasks"]["0"]);

  const auto costs = trainee.step_costs(features, recorded_batch(step), 5e-4);
  testing::expect_near(costs.overall, step["cost_losses"]["overall"]);
  testing::expect_near(costs.device[0], step["cost_losses"]["forward"]);
  testing::expect_near(costs.device[1], step["cost_losses"]["communication"]);
  testing::expect_near(costs.device[2], step["cost_losses"]["backward"]);
  testing::expect_gradient_norms<DreamshardPolicy>(trainee.parts(), step["cost_gradient_norms"]);
  testing::expect_weights<DreamshardPolicy>(trainee.networks(), step["after_cost"]);

  std::vector<DreamshardEpisode> episodes;
  for (const json& recorded : step["episodes"]) {
    DreamshardEpisode episode{{}, recorded["actions"], recorded["reward"]};
    for (const std::uint32_t table : recorded["order"]) episode.rows.push_back(table + 1);
    episodes.push_back(episode);
  }
  const auto losses = trainee.step_policy(features, step["devices"], episodes, 5e-4);
  testing::expect_near(losses.policy, step["policy"]["policy_loss"]);
  testing::expect_near(losses.negative_entropy, step["policy"]["entropy_loss"]);
  testing::expect_gradient_norms<DreamshardPolicy>(trainee.parts(), step["policy_gradient_norms"]);
  testing::expect_weights<DreamshardPolicy>(trainee.networks(), step["after_policy"]);
}

}  // namespace
}  // namespace neuroshard::training
