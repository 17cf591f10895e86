#include "weights/training/policies/dreamshard_trainee.h"

#include <algorithm>
#include <cmath>

#include "core/policies/policy_parts.h"

namespace neuroshard::training {
namespace {

using Dreamshard = DreamshardPolicy;

constexpr std::array kHeads = {&Dreamshard::forward, &Dreamshard::communication,
                               &Dreamshard::backward};

/// Tables on a device at some time of an episode; the first state is that of an empty device.
struct DeviceState {
  std::size_t before;  ///< State of the same device before its last table.
  std::uint32_t row;   ///< The last table.
};

/// Sets the gradient of the mean squared error; returns the error.
double set_squared_error(PartTrainee& head, std::size_t row, double target, double samples) {
  const double error = head.output(row)[0] - target;
  head.output_gradient(row)[0] = static_cast<float>(2.0 * error / samples);
  return error * error / samples;
}

std::vector<double> normalized_rewards(std::span<const DreamshardEpisode> episodes) {
  // Each step of an episode has its reward.
  double steps = 0.0;
  double mean = 0.0;
  for (const DreamshardEpisode& episode : episodes) {
    const auto count = static_cast<double>(episode.rows.size());
    steps += count;
    mean += count * episode.reward;
  }
  mean /= steps;
  double squares = 0.0;
  for (const DreamshardEpisode& episode : episodes) {
    const double difference = episode.reward - mean;
    squares += static_cast<double>(episode.rows.size()) * difference * difference;
  }
  const double deviation = std::sqrt(squares / std::max(1.0, steps - 1.0));
  std::vector<double> rewards;
  for (const DreamshardEpisode& episode : episodes) {
    rewards.push_back((episode.reward - mean) / (deviation + 1e-8));
  }
  return rewards;
}

}  // namespace

DreamshardTrainee::CostLosses DreamshardTrainee::step_costs(std::span<const float> features,
                                                            const DreamshardCostBatch& batch,
                                                            double learning_rate) {
  PartTrainee& tables = part(&Dreamshard::cost_tables);
  encode_tables(tables, features);
  constexpr std::size_t kWidth = kPolicyEmbedding;
  AlignedVector<float> sums(batch.shards.size() * kWidth, 0.0F);
  AlignedVector<float> gradients(sums.size(), 0.0F);
  const std::vector<std::uint32_t> empty{kZeroRow};
  const auto rows_of = [&](std::size_t shard) -> const std::vector<std::uint32_t>& {
    return batch.shards[shard].empty() ? empty : batch.shards[shard];
  };
  for (std::size_t s = 0; s < batch.shards.size(); ++s) {
    add_embeddings(tables, rows_of(s), &sums[s * kWidth]);
  }

  CostLosses losses;
  PartTrainee& overall = part(&Dreamshard::overall);
  overall.begin(batch.placements.size());
  std::vector<std::size_t> largest;  // [placements, kWidth]: shards.
  for (std::size_t p = 0; p < batch.placements.size(); ++p) {
    const auto& placement = batch.placements[p];
    for (std::size_t i = 0; i < kWidth; ++i) {
      std::size_t best = placement.first_shard;
      for (std::size_t s = best + 1; s < placement.first_shard + placement.devices; ++s) {
        if (sums[s * kWidth + i] > sums[best * kWidth + i]) best = s;
      }
      largest.push_back(best);
      overall.input(p)[i] = sums[best * kWidth + i];
    }
  }
  overall.forward();
  for (std::size_t p = 0; p < batch.placements.size(); ++p) {
    losses.overall += set_squared_error(overall, p, batch.placements[p].cost_ms,
                                        static_cast<double>(batch.placements.size()));
  }
  overall.backward();
  for (std::size_t p = 0; p < batch.placements.size(); ++p) {
    for (std::size_t i = 0; i < kWidth; ++i) {
      gradients[largest[p * kWidth + i] * kWidth + i] += overall.input_gradient(p)[i];
    }
  }

  for (std::size_t h = 0; h < kHeads.size(); ++h) {
    PartTrainee& head = part(kHeads[h]);
    head.begin(batch.devices.size());
    for (std::size_t d = 0; d < batch.devices.size(); ++d) {
      std::copy_n(&sums[batch.devices[d].shard * kWidth], kWidth, head.input(d));
    }
    head.forward();
    for (std::size_t d = 0; d < batch.devices.size(); ++d) {
      losses.device[h] += set_squared_error(head, d, batch.devices[d].ms[h],
                                            static_cast<double>(batch.devices.size()));
    }
    head.backward();
    for (std::size_t d = 0; d < batch.devices.size(); ++d) {
      float* gradient = &gradients[batch.devices[d].shard * kWidth];
      for (std::size_t i = 0; i < kWidth; ++i) gradient[i] += head.input_gradient(d)[i];
    }
  }
  for (std::size_t s = 0; s < batch.shards.size(); ++s) {
    add_to_gradients(tables, rows_of(s), &gradients[s * kWidth]);
  }
  tables.backward();
  tables.step(learning_rate);
  overall.step(learning_rate);
  for (const auto head : kHeads) part(head).step(learning_rate);
  return losses;
}

DreamshardTrainee::PolicyLosses DreamshardTrainee::step_policy(
    std::span<const float> features, std::size_t devices,
    std::span<const DreamshardEpisode> episodes, double learning_rate) {
  // A device's logit depends on its own tables alone, so each state that a device is in has one.
  std::vector<DeviceState> states{{0, kZeroRow}};
  for (const DreamshardEpisode& episode : episodes) {
    std::vector<std::size_t> now(devices, 0);
    for (std::size_t k = 0; k < episode.rows.size(); ++k) {
      std::size_t& of_device = now[episode.devices[k]];
      states.push_back({of_device, episode.rows[k]});
      of_device = states.size() - 1;
    }
  }
  PartTrainee& cost_tables = part(&Dreamshard::cost_tables);
  PartTrainee& tables = part(&Dreamshard::policy_tables);
  PartTrainee& cost_features = part(&Dreamshard::cost_features);
  PartTrainee& choice = part(&Dreamshard::choice);
  encode_tables(cost_tables, features);
  encode_tables(tables, features);
  for (const auto head : kHeads) part(head).begin(states.size());
  cost_features.begin(states.size());
  choice.begin(states.size());
  AlignedVector<float> cost_sums(states.size() * kPolicyEmbedding, 0.0F);
  for (std::size_t s = 0; s < states.size(); ++s) {
    float* cost_sum = &cost_sums[s * kPolicyEmbedding];
    if (states[s].before != 0) {
      std::copy_n(&cost_sums[states[s].before * kPolicyEmbedding], kPolicyEmbedding, cost_sum);
      std::copy_n(choice.input(states[s].before), kPolicyEmbedding, choice.input(s));
    }
    add_embeddings(cost_tables, std::span(&states[s].row, 1), cost_sum);
    add_embeddings(tables, std::span(&states[s].row, 1), choice.input(s));
    for (const auto head : kHeads) {
      std::copy_n(cost_sum, kPolicyEmbedding, part(head).input(s));
    }
  }
  for (std::size_t h = 0; h < kHeads.size(); ++h) {
    PartTrainee& head = part(kHeads[h]);
    head.forward();
    for (std::size_t s = 0; s < states.size(); ++s) cost_features.input(s)[h] = head.output(s)[0];
  }
  cost_features.forward();
  for (std::size_t s = 0; s < states.size(); ++s) {
    std::copy_n(cost_features.output(s), kPolicyEmbedding, choice.input(s) + kPolicyEmbedding);
  }
  choice.forward();

  PolicyLosses losses;
  const std::vector<double> rewards = normalized_rewards(episodes);
  const auto steps = static_cast<double>(states.size() - 1);
  std::size_t next_state = 1;
  for (std::size_t e = 0; e < episodes.size(); ++e) {
    std::vector<std::size_t> now(devices, 0);
    for (const std::uint32_t chosen : episodes[e].devices) {
      std::vector<double> logits;
      logits.reserve(devices);
      for (const std::size_t state : now) logits.push_back(choice.output(state)[0]);
      const LogSoftmax softmax(logits);
      losses.policy -= softmax.log_p[chosen] * rewards[e] / steps;
      losses.negative_entropy += softmax.negative_entropy / steps;
      for (std::size_t d = 0; d < devices; ++d) {
        const double missed = std::exp(softmax.log_p[d]) - (d == chosen ? 1.0 : 0.0);
        const double slope = missed * rewards[e] + kEntropyWeight * softmax.entropy_slope(d);
        choice.output_gradient(now[d])[0] += static_cast<float>(slope / steps);
      }
      now[chosen] = next_state++;
    }
  }
  choice.backward();
  for (std::size_t s = states.size(); s-- > 0;) {
    float* gradient = choice.input_gradient(s);
    std::copy_n(gradient + kPolicyEmbedding, kPolicyEmbedding, cost_features.output_gradient(s));
    add_to_gradients(tables, std::span(&states[s].row, 1), gradient);
    if (states[s].before == 0) continue;  // The row of zeros leaves with the first table.
    float* before = choice.input_gradient(states[s].before);
    for (int i = 0; i < kPolicyEmbedding; ++i) before[i] += gradient[i];
  }
  cost_features.backward();
  tables.backward();
  for (PartTrainee* one : {&choice, &cost_features, &tables}) one->step(learning_rate);
  return losses;
}

}  // namespace neuroshard::training
