#include "weights/training/policies/autoshard_trainee.h"

#include <algorithm>
#include <cmath>

#include "core/policies/policy_parts.h"
#include "weights/training/policies/vtrace.h"

namespace neuroshard::training {
namespace {

using Autoshard = AutoshardPolicy;

// The slope of half the squared error, which is halved once more.
constexpr double kBaselineWeight = 0.5;
constexpr std::size_t kState = kPolicyState;
constexpr std::size_t kEmbedding = kPolicyEmbedding;

float sigmoid_of(float x) { return 1.0F / (1.0F + std::exp(-x)); }

}  // namespace

/// States of both layers, [rows, kState]: row of step t of rollout b is t * rollouts + b.
struct AutoshardTrainee::Cells {
  std::array<AlignedVector<float>, kMemoryLayers> before;  ///< Cells before the step.
  std::array<AlignedVector<float>, kMemoryLayers> after;
  std::array<AlignedVector<float>, kMemoryLayers> hidden;  ///< After the step.
};

std::array<PartTrainee*, kMemoryLayers> AutoshardTrainee::memory() {
  return {&part(&Autoshard::memory_0), &part(&Autoshard::memory_1)};
}

void AutoshardTrainee::run_memory(std::span<const AutoshardRollout> rollouts, Cells& cells) {
  const std::size_t actors = rollouts.size();
  const std::size_t steps = rollouts.front().steps.size();
  const std::size_t floats = steps * actors * kState;
  for (std::size_t l = 0; l < kMemoryLayers; ++l) {
    for (auto* values : {&cells.before[l], &cells.after[l], &cells.hidden[l]}) {
      values->assign(floats, 0.0F);
    }
  }
  const auto layers = memory();
  for (std::size_t t = 0; t < steps; ++t) {
    for (std::size_t l = 0; l < kMemoryLayers; ++l) {
      for (std::size_t b = 0; b < actors; ++b) {
        const std::size_t row = t * actors + b;
        float* input = layers[l]->input(row);
        float* cell = &cells.before[l][row * kState];
        if (l > 0) std::copy_n(&cells.hidden[l - 1][row * kState], kState, input);
        input[2 * kState] = 1.0F;
        if (rollouts[b].steps[t].begins_episode) continue;  // The state is 0.
        const std::size_t before = (row - actors) * kState;
        std::copy_n(t == 0 ? rollouts[b].start.hidden[l].data() : &cells.hidden[l][before], kState,
                    input + kState);
        std::copy_n(t == 0 ? rollouts[b].start.cell[l].data() : &cells.after[l][before], kState,
                    cell);
      }
      layers[l]->forward(t * actors, actors);
      for (std::size_t row = t * actors; row < (t + 1) * actors; ++row) {
        float* cell = &cells.after[l][row * kState];
        std::copy_n(&cells.before[l][row * kState], kState, cell);
        update_cell(layers[l]->output(row), cell, &cells.hidden[l][row * kState]);
      }
    }
  }
}

void AutoshardTrainee::run_memory_backward(std::span<const AutoshardRollout> rollouts,
                                           const Cells& cells, AlignedVector<float>& gradients) {
  const std::size_t actors = rollouts.size();
  const std::size_t steps = rollouts.front().steps.size();
  const auto layers = memory();
  // Slopes of the states of each layer [actors, kState], from later steps.
  std::array<std::vector<float>, kMemoryLayers> of_hidden;
  std::array<std::vector<float>, kMemoryLayers> of_cell;
  for (std::size_t l = 0; l < kMemoryLayers; ++l) {
    of_hidden[l].assign(actors * kState, 0.0F);
    of_cell[l].assign(actors * kState, 0.0F);
  }
  for (std::size_t t = steps; t-- > 0;) {
    for (std::size_t l = kMemoryLayers; l-- > 0;) {
      for (std::size_t b = 0; b < actors; ++b) {
        const std::size_t row = t * actors + b;
        const float* gates = layers[l]->output(row);
        float* slope = layers[l]->output_gradient(row);
        const float* above =
            l + 1 == kMemoryLayers ? &gradients[row * kState] : layers[l + 1]->input_gradient(row);
        for (std::size_t i = 0; i < kState; ++i) {
          const float in = sigmoid_of(gates[i]);
          const float forget = sigmoid_of(gates[kState + i]);
          const float next = std::tanh(gates[2 * kState + i]);
          const float out = sigmoid_of(gates[3 * kState + i]);
          const float cell = std::tanh(cells.after[l][row * kState + i]);
          const float hidden_slope = of_hidden[l][b * kState + i] + above[i];
          float& cell_slope = of_cell[l][b * kState + i];
          cell_slope += hidden_slope * out * (1.0F - cell * cell);
          slope[i] = cell_slope * next * in * (1.0F - in);
          slope[kState + i] =
              cell_slope * cells.before[l][row * kState + i] * forget * (1.0F - forget);
          slope[2 * kState + i] = cell_slope * in * (1.0F - next * next);
          slope[3 * kState + i] = hidden_slope * cell * out * (1.0F - out);
          cell_slope *= forget;
        }
      }
      layers[l]->backward(t * actors, actors);
      for (std::size_t b = 0; b < actors; ++b) {
        float* hidden = &of_hidden[l][b * kState];
        if (rollouts[b].steps[t].begins_episode) {
          std::fill_n(hidden, kState, 0.0F);
          std::fill_n(&of_cell[l][b * kState], kState, 0.0F);
        } else {
          std::copy_n(layers[l]->input_gradient(t * actors + b) + kState, kState, hidden);
        }
      }
    }
  }
}

AutoshardTrainee::PolicyLosses AutoshardTrainee::step_policy(
    std::span<const float> features, std::span<const AutoshardRollout> rollouts,
    double learning_rate) {
  const std::size_t actors = rollouts.size();
  const std::size_t steps = rollouts.front().steps.size();
  const auto step_of = [&](std::size_t row) -> const AutoshardStep& {
    return rollouts[row % actors].steps[row / actors];
  };
  std::vector<std::size_t> first_device(steps * actors + 1, 0);  // Rows of `load` and `choice`.
  for (std::size_t row = 0; row < steps * actors; ++row) {
    first_device[row + 1] = first_device[row] + step_of(row).on_device.size();
  }
  PartTrainee& tables = part(&Autoshard::tables);
  PartTrainee& progress = part(&Autoshard::progress);
  PartTrainee& load = part(&Autoshard::load);
  PartTrainee& choice = part(&Autoshard::choice);
  PartTrainee& baseline = part(&Autoshard::baseline);
  encode_tables(tables, features);
  progress.begin(steps * actors);
  load.begin(first_device.back());
  choice.begin(first_device.back());
  baseline.begin(steps * actors);
  for (PartTrainee* layer : memory()) layer->begin(steps * actors);

  for (std::size_t row = 0; row < steps * actors; ++row) {
    const AutoshardStep& step = step_of(row);
    progress.input(row)[0] = step.progress;
    for (std::size_t d = 0; d < step.loads.size(); ++d) {
      std::ranges::copy(step.loads[d], load.input(first_device[row] + d));
    }
  }
  progress.forward();
  load.forward();
  for (std::size_t row = 0; row < steps * actors; ++row) {
    float* input = memory()[0]->input(row);
    add_embeddings(tables, std::span(&step_of(row).row, 1), input);
    std::copy_n(progress.output(row), kEmbedding, input + kEmbedding);
  }
  Cells cells;
  run_memory(rollouts, cells);
  const AlignedVector<float>& states = cells.hidden.back();
  for (std::size_t row = 0; row < steps * actors; ++row) {
    const float* state = &states[row * kState];
    std::copy_n(state, kState, baseline.input(row));
    for (std::size_t d = 0; d < step_of(row).on_device.size(); ++d) {
      float* input = choice.input(first_device[row] + d);
      float* device = input + kState;
      std::copy_n(state, kState, input);
      add_embeddings(tables, std::span(&kZeroRow, 1), device);
      add_embeddings(tables, step_of(row).on_device[d], device);
      std::copy_n(load.output(first_device[row] + d), kEmbedding, device + kEmbedding);
      for (std::size_t i = 0; i < kState; ++i) input[2 * kState + i] = state[i] * device[i];
    }
  }
  baseline.forward();
  choice.forward();

  PolicyLosses losses;
  for (std::size_t b = 0; b < actors; ++b) {
    std::vector<ActorStep> actor_steps;
    std::vector<LogSoftmax> softmaxes;
    for (std::size_t t = 0; t + 1 < steps; ++t) {
      const std::size_t row = t * actors + b;
      const AutoshardStep& step = step_of(row);
      std::vector<double> logits;
      for (std::size_t d = first_device[row]; d < first_device[row + 1]; ++d) {
        logits.push_back(choice.output(d)[0]);
      }
      softmaxes.emplace_back(logits);
      const double now = softmaxes.back().log_p[step.action];
      actor_steps.push_back({.ratio = std::exp(now - step.log_probability),
                             .reward = step.reward,
                             .discount = step_of(row + actors).begins_episode ? 0.0 : 1.0,
                             .value = baseline.output(row)[0]});
    }
    const VTrace trace = v_trace(actor_steps, baseline.output((steps - 1) * actors + b)[0]);
    for (std::size_t t = 0; t + 1 < steps; ++t) {
      const std::size_t row = t * actors + b;
      const std::uint32_t action = step_of(row).action;
      const double error = trace.targets[t] - actor_steps[t].value;
      losses.policy -= softmaxes[t].log_p[action] * trace.advantages[t];
      losses.baseline += kBaselineWeight * 0.5 * error * error;
      losses.entropy += kEntropyWeight * softmaxes[t].negative_entropy;
      baseline.output_gradient(row)[0] = static_cast<float>(-kBaselineWeight * error);
      for (std::size_t d = 0; d < softmaxes[t].log_p.size(); ++d) {
        const double missed = std::exp(softmaxes[t].log_p[d]) - (d == action ? 1.0 : 0.0);
        choice.output_gradient(first_device[row] + d)[0] = static_cast<float>(
            missed * trace.advantages[t] + kEntropyWeight * softmaxes[t].entropy_slope(d));
      }
    }
  }

  baseline.backward();
  choice.backward();
  AlignedVector<float> of_states(states.size(), 0.0F);
  for (std::size_t row = 0; row < steps * actors; ++row) {
    float* of_state = &of_states[row * kState];
    std::copy_n(baseline.input_gradient(row), kState, of_state);
    for (std::size_t d = first_device[row]; d < first_device[row + 1]; ++d) {
      const float* input = choice.input(d);
      float* gradient = choice.input_gradient(d);
      float* of_device = gradient + kState;
      for (std::size_t i = 0; i < kState; ++i) {
        const float of_product = gradient[2 * kState + i];
        of_state[i] += gradient[i] + of_product * input[kState + i];
        of_device[i] += of_product * input[i];
      }
      add_to_gradients(tables, std::span(&kZeroRow, 1), of_device);
      add_to_gradients(tables, step_of(row).on_device[d - first_device[row]], of_device);
      std::copy_n(of_device + kEmbedding, kEmbedding, load.output_gradient(d));
    }
  }
  run_memory_backward(rollouts, cells, of_states);
  for (std::size_t row = 0; row < steps * actors; ++row) {
    const float* gradient = memory()[0]->input_gradient(row);
    add_to_gradients(tables, std::span(&step_of(row).row, 1), gradient);
    std::copy_n(gradient + kEmbedding, kEmbedding, progress.output_gradient(row));
  }
  load.backward();
  progress.backward();
  tables.backward();
  const std::array all = {&tables, &progress, memory()[0], memory()[1], &baseline, &load, &choice};
  clip_gradients(all);
  for (PartTrainee* one : all) one->step(learning_rate);
  return losses;
}

double AutoshardTrainee::step_costs(std::span<const float> features,
                                    std::span<const std::vector<std::uint32_t>> shards,
                                    std::span<const double> cost_ms, double learning_rate) {
  PartTrainee& tables = part(&Autoshard::tables);
  PartTrainee& cost = part(&Autoshard::cost);
  encode_tables(tables, features);
  cost.begin(shards.size());
  for (std::size_t s = 0; s < shards.size(); ++s) add_embeddings(tables, shards[s], cost.input(s));
  cost.forward();
  double loss = 0.0;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const double error = cost.output(s)[0] - cost_ms[s];
    const auto samples = static_cast<double>(shards.size());
    loss += error * error / samples;
    cost.output_gradient(s)[0] = static_cast<float>(2.0 * error / samples);
  }
  cost.backward();
  for (std::size_t s = 0; s < shards.size(); ++s) {
    add_to_gradients(tables, shards[s], cost.input_gradient(s));
  }
  tables.backward();
  const std::array both = {&tables, &cost};
  clip_gradients(both);
  for (PartTrainee* one : both) one->step(learning_rate);
  return loss;
}

}  // namespace neuroshard::training
