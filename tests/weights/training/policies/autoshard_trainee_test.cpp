#include "weights/training/policies/autoshard_trainee.h"

#include "core/policies/policy_features.h"
#include "neuroshard/policy_file.h"
#include "weights/training/policies/recorded_steps.h"
#include "weights/training/policies/vtrace.h"

namespace neuroshard::training {
namespace {

using nlohmann::json;

double log_probability(const json& logits, std::size_t action) {
  return LogSoftmax(logits.get<std::vector<double>>()).log_p[action];
}

std::vector<std::uint32_t> shifted(const json& rows) {
  std::vector<std::uint32_t> shifted;
  for (const std::uint32_t row : rows) shifted.push_back(row + 1);
  return shifted;
}

/// Entry t of the record holds what followed the action before it.
AutoshardRollout recorded_rollout(const json& record, std::size_t actor) {
  AutoshardRollout rollout;
  for (std::size_t l = 0; l < kMemoryLayers; ++l) {
    rollout.start.hidden[l] = record["initial_agent_state"][0][l][actor];
    rollout.start.cell[l] = record["initial_agent_state"][1][l][actor];
  }
  const std::size_t steps = record["T"];
  for (std::size_t t = 0; t <= steps; ++t) {
    AutoshardStep step;
    step.row = record["state_table"][t][actor].get<std::uint32_t>() + 1;
    step.progress = record["state_other"][t][actor][0];
    step.begins_episode = record["done"][t][actor];
    for (const json& rows : record["device_tables"][t][actor]) {
      step.on_device.push_back(shifted(rows));
    }
    for (const json& load : record["actions_other"][t][actor]) step.loads.push_back(load);
    if (t < steps) {
      step.action = record["action"][t + 1][actor];
      step.log_probability = log_probability(record["policy_logits"][t + 1][actor], step.action);
      step.reward = record["reward"][t + 1][actor];
    }
    rollout.steps.push_back(std::move(step));
  }
  return rollout;
}

std::vector<float> recorded_features(const json& rows) {
  std::vector<float> features((rows.size() + 1) * kPolicyFeatureStride, 0.0F);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::ranges::copy(
        rows[r].get<std::vector<float>>(),
        features.begin() + static_cast<std::ptrdiff_t>((r + 1) * kPolicyFeatureStride));
  }
  return features;
}

TEST(AutoshardTrainee, TakesTheStepsOfThePublishedProgram) {
  const json answers = testing::published_answers("autoshard.json");
  const json& record = answers["training"];
  const PlacementPolicy start = load_policy(testing::policy_path("autoshard_start.tar"));
  AutoshardTrainee trainee(std::get<AutoshardPolicy>(start.networks));
  const std::vector<float> features = recorded_features(record["features"]);

  std::vector<AutoshardRollout> rollouts;
  for (std::size_t b = 0; b < record["B"].get<std::size_t>(); ++b) {
    rollouts.push_back(recorded_rollout(record, b));
  }
  const auto losses = trainee.step_policy(features, rollouts, 1e-3);
  testing::expect_near(losses.policy, record["losses"]["pg_loss"]);
  testing::expect_near(losses.baseline, record["losses"]["baseline_loss"]);
  testing::expect_near(losses.entropy, record["losses"]["entropy_loss"]);
  testing::expect_weights(trainee.networks(), record["after_policy"]);

  std::vector<std::vector<std::uint32_t>> shards;
  for (const json& rows : record["shards"]) shards.push_back(shifted(rows));
  const auto cost_ms = record["shard_ms"].get<std::vector<double>>();
  testing::expect_near(trainee.step_costs(features, shards, cost_ms, 1e-3),
                       record["cost_step"]["loss"]);
  testing::expect_weights(trainee.networks(), record["after_cost"]);
}

TEST(VTrace, HasThePublishedTargets) {
  const json record = testing::published_answers("autoshard.json")["training"];
  const json& learner = record["learner"];
  const std::size_t steps = record["T"];
  for (std::size_t b = 0; b < record["B"].get<std::size_t>(); ++b) {
    std::vector<ActorStep> actor;
    for (std::size_t t = 0; t < steps; ++t) {
      const std::size_t action = record["action"][t + 1][b];
      actor.push_back(
          {.ratio = std::exp(log_probability(learner["policy_logits"][t][b], action) -
                             log_probability(record["policy_logits"][t + 1][b], action)),
           .reward = record["reward"][t + 1][b],
           .discount = record["done"][t + 1][b].get<bool>() ? 0.0 : 1.0,
           .value = learner["baseline"][t][b]});
    }
    const VTrace trace = v_trace(actor, learner["baseline"][steps][b]);
    for (std::size_t t = 0; t < steps; ++t) {
      testing::expect_near(trace.targets[t], learner["vs"][t][b]);
      testing::expect_near(trace.advantages[t], learner["pg_advantages"][t][b]);
    }
  }
}

}  // namespace
}  // namespace neuroshard::training
