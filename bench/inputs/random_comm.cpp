#include "bench/inputs/random_comm.h"

#include <algorithm>
#include <cmath>

#include "core/base/random.h"

namespace neuroshard::bench {
namespace {

SymmetricCommNetwork random_symmetric_network(Random& random) {
  SymmetricCommNetwork network;
  network.features.mean.assign(kSymmetricCommFeatures, 200.0F);
  network.features.std.assign(kSymmetricCommFeatures, 200.0F);
  int inputs = kSymmetricCommFeatures;
  for (const int outputs : {64, 32, 1}) {
    DenseLayer layer{.inputs = inputs, .outputs = outputs, .weight = {}, .bias = {}};
    const auto weight = [&] {
      return static_cast<float>((2.0 * random.uniform() - 1.0) / std::sqrt(inputs));
    };
    layer.weight.resize(static_cast<std::size_t>(inputs) * static_cast<std::size_t>(outputs));
    layer.bias.resize(static_cast<std::size_t>(outputs));
    std::generate(layer.weight.begin(), layer.weight.end(), weight);
    std::generate(layer.bias.begin(), layer.bias.end(), weight);
    network.network.layers.push_back(std::move(layer));
    inputs = outputs;
  }
  return network;
}

}  // namespace

bool complete_with_random_comm(CostModels& models, int devices) {
  if (models.has_comm_for(devices)) return false;
  Random random(/*seed=*/7);
  models.symmetric_comm =
      CommModel{random_symmetric_network(random), random_symmetric_network(random)};
  return true;
}

}  // namespace neuroshard::bench
