// Communication costs against docs/arithmetic.md, followed step by step: equal to the last bit, for
// networks of all shapes, on every CPU backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "every_cpu_backend.h"
#include "neuroshard/backend.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

std::vector<float> outputs_of(const Mlp& mlp, std::vector<float> x) {
  for (std::size_t k = 0; k < mlp.layers.size(); ++k) {
    const DenseLayer& layer = mlp.layers[k];
    const auto inputs = static_cast<std::size_t>(layer.inputs);
    std::vector<float> y = layer.bias;
    for (std::size_t o = 0; o < y.size(); ++o) {
      const float* weight = layer.weight.data() + o * inputs;
      if (y.size() > 1) {
        for (std::size_t i = 0; i < inputs; ++i) y[o] = std::fma(weight[i], x[i], y[o]);
        continue;
      }
      std::vector<float> partial(32);
      for (std::size_t i = 0; i < inputs; ++i) {
        partial[i % 32] = std::fma(weight[i], x[i], partial[i % 32]);
      }
      for (std::size_t distance = 16; distance > 0; distance /= 2) {
        for (std::size_t l = 0; l < distance; ++l) partial[l] += partial[l + distance];
      }
      y[0] = partial[0] + y[0];
    }
    if (k + 1 < mlp.layers.size()) {
      for (float& value : y) value = value > 0.0F ? value : 0.0F;
    }
    x = y;
  }
  return x;
}

std::vector<float> normalized(std::vector<float> x, const Normalization& features) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = (x[i] - features.mean[i]) / features.std[i];
  return x;
}

// Costs of one placement, whose offsets the network knows. No offsets: the backward pass.
std::vector<float> network_costs(const CommNetwork& network, const std::vector<float>& dims,
                                 const std::vector<float>& offsets, float share) {
  if (const auto* dense = std::get_if<DenseCommNetwork>(&network)) {
    std::vector<float> x = dims;
    for (const float offset : offsets) x.push_back(share * offset);
    return outputs_of(dense->network, normalized(x, dense->features));
  }
  const auto& symmetric = std::get<SymmetricCommNetwork>(network);
  const double count = static_cast<double>(dims.size());
  std::int64_t dim_total = 0;
  std::int64_t offset_total = 0;
  float max_offset = 0.0F;
  for (const float dim : dims) dim_total += std::llrint(dim);
  for (const float offset : offsets) {
    offset_total += std::llrint(static_cast<double>(offset) * 0x1p20);
    max_offset = std::max(max_offset, offset);
  }
  std::vector<float> costs;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const std::vector<float> x = {
        dims[d],
        offsets.empty() ? 0.0F : share * offsets[d],
        static_cast<float>(static_cast<double>(dim_total) / count),
        *std::max_element(dims.begin(), dims.end()),
        *std::min_element(dims.begin(), dims.end()),
        share * static_cast<float>(static_cast<double>(offset_total) / 0x1p20 / count),
        share * max_offset,
        static_cast<float>(std::log2(count <= 8.0 ? count : 8.0 * std::ceil(count / 8.0)))};
    costs.push_back(outputs_of(symmetric.network, normalized(x, symmetric.features)).at(0));
  }
  return costs;
}

// Beyond the latest start that the network knows, waiting is linear.
std::vector<float> costs_of(const CommNetwork& network, const std::vector<float>& dims,
                            const std::vector<float>& offsets, float most_offset_ms) {
  const float last = offsets.empty() ? 0.0F : *std::ranges::max_element(offsets);
  if (last <= most_offset_ms) return network_costs(network, dims, offsets, 1.0F);
  const float share = most_offset_ms / last;
  std::vector<float> costs = network_costs(network, dims, offsets, share);
  for (std::size_t d = 0; d < costs.size(); ++d) costs[d] += (last - offsets[d]) * (1.0F - share);
  return costs;
}

class CommCosts : public testing::EveryCpuBackend {
 protected:
  void expect_costs_by_the_rules(const CostModels& models, int devices, int placements,
                                 float most_offset_ms = std::numeric_limits<float>::infinity()) {
    SCOPED_TRACE(std::to_string(devices) + " devices, " + std::to_string(placements));
    const auto backend = make_cpu_backend(models, {.name = GetParam()});
    const CommModel& model = models.comm_for(devices);
    const auto count = static_cast<std::size_t>(devices);
    std::vector<float> all_dims;
    std::vector<float> all_offsets;
    std::vector<float> forward;
    std::vector<float> backward;
    for (int p = 0; p < placements; ++p) {
      std::vector<float> dims(count);
      std::vector<float> offsets(count);
      for (float& x : dims) x = static_cast<float>(4 * (random_() % 500));
      // A fraction of the unit in which offsets are added, and more than fits in 32 bits of it.
      for (float& x : offsets) x = std::ldexp(static_cast<float>(random_() % 4096), -21);
      offsets[0] = static_cast<float>(random_() % 3) * 5000.0F;
      all_dims.insert(all_dims.end(), dims.begin(), dims.end());
      all_offsets.insert(all_offsets.end(), offsets.begin(), offsets.end());
      const auto fw = costs_of(model.forward, dims, offsets, most_offset_ms);
      const auto bw = costs_of(model.backward, dims, {}, most_offset_ms);
      forward.insert(forward.end(), fw.begin(), fw.end());
      backward.insert(backward.end(), bw.begin(), bw.end());
    }
    std::vector<float> costs(all_dims.size());
    backend->forward_comm(devices, all_dims, all_offsets, costs);
    EXPECT_EQ(costs, forward);
    backend->backward_comm(devices, all_dims, costs);
    EXPECT_EQ(costs, backward);
  }

  std::mt19937_64 random_{11};
};

TEST_P(CommCosts, OfSymmetricNetworks) {
  // Sums over more and fewer inputs than there are partial sums; layers of one output within.
  const std::vector<int> shapes[] = {{64, 32}, {}, {5}, {40, 70}, {16, 1, 12}};
  for (const auto& hidden : shapes) {
    const CostModels models = testing::random_models(6, {.comm = hidden, .devices = {}});
    for (const int devices : {1, 3, 16, 47, 200}) {
      for (const int placements : {1, 2, 9}) {
        if (NEUROSHARD_SANITIZED && devices * placements > 200) continue;
        expect_costs_by_the_rules(models, devices, placements);
      }
    }
    // More devices than go through the network at once. (Sanitizers see enough in one network.)
    if (NEUROSHARD_SANITIZED == 0 || &hidden == shapes) expect_costs_by_the_rules(models, 1024, 2);
  }
}

TEST_P(CommCosts, OfDenseNetworks) {
  const std::vector<int> shapes[] = {{128, 64, 32, 16}, {}, {1, 9}};
  for (const auto& hidden : shapes) {
    const CostModels models =
        testing::random_models(7, {.comm = hidden, .devices = {1, 2, 4, 16, 40}});
    for (const int devices : {1, 2, 4, 16, 40}) {
      for (const int placements : {1, 5, NEUROSHARD_SANITIZED ? 20 : 200}) {
        expect_costs_by_the_rules(models, devices, placements);
      }
    }
  }
}

TEST_P(CommCosts, WaitingBeyondWhatNetworksKnowIsLinear) {
  const CostModels symmetric = testing::with_offsets_up_to(
      testing::random_models(8, {.comm = {16, 12}, .devices = {}}), 2.5);
  const CostModels dense = testing::with_offsets_up_to(
      testing::random_models(9, {.comm = {16, 12}, .devices = {2, 4, 40}}), 2.5);
  for (const CostModels* models : {&symmetric, &dense}) {
    for (const int devices : {2, 4, 40}) expect_costs_by_the_rules(*models, devices, 9, 2.5F);
  }
  // As far as they know offsets, costs are those of models that do not say so.
  const CostModels unknown = testing::random_models(8, {.comm = {16, 12}, .devices = {}});
  const std::vector<float> dims = {64.0F, 8.0F, 0.0F, 32.0F};
  const std::vector<float> offsets = {0.0F, 2.5F, 1.0F, 0.5F};
  std::vector<float> known_ms(4);
  std::vector<float> unknown_ms(4);
  make_cpu_backend(symmetric, {.name = GetParam()})->forward_comm(4, dims, offsets, known_ms);
  make_cpu_backend(unknown, {.name = GetParam()})->forward_comm(4, dims, offsets, unknown_ms);
  EXPECT_EQ(known_ms, unknown_ms);
}

INSTANTIATE_TEST_SUITE_P(Cpu, CommCosts, ::testing::ValuesIn(cpu_backends()));

}  // namespace
}  // namespace neuroshard
