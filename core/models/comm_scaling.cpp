#include "neuroshard/comm_scaling.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "core/models/symmetric_comm_features.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

enum class CommInput { kColumns, kOffset, kDevices };

// As docs/weights_format.md lists them.
constexpr CommInput kSymmetricInputs[kSymmetricCommFeatures] = {
    CommInput::kColumns, CommInput::kOffset, CommInput::kColumns, CommInput::kColumns,
    CommInput::kColumns, CommInput::kOffset, CommInput::kOffset,  CommInput::kDevices};

/// Layer `a` above layer `b`, which see the same inputs (`shared`) or each its own.
DenseLayer side_by_side(const DenseLayer& a, const DenseLayer& b, bool shared) {
  DenseLayer both{shared ? a.inputs : a.inputs + b.inputs, a.outputs + b.outputs, {}, {}};
  both.weight.reserve(static_cast<std::size_t>(both.inputs) *
                      static_cast<std::size_t>(both.outputs));
  const auto add_rows = [&](const DenseLayer& layer, int before) {
    for (int o = 0; o < layer.outputs; ++o) {
      both.weight.insert(both.weight.end(), static_cast<std::size_t>(before), 0.0F);
      const auto row = layer.weight.begin() + static_cast<std::ptrdiff_t>(o) * layer.inputs;
      both.weight.insert(both.weight.end(), row, row + layer.inputs);
      both.weight.insert(both.weight.end(),
                         static_cast<std::size_t>(both.inputs - before - layer.inputs), 0.0F);
    }
    both.bias.insert(both.bias.end(), layer.bias.begin(), layer.bias.end());
  };
  add_rows(a, 0);
  add_rows(b, shared ? 0 : a.inputs);
  return both;
}

/// Turns a first layer, whose inputs are normalised by `features`, into one that sees columns and
/// offsets as 0, whatever they are.
template <typename KindOf>
DenseLayer of_nothing(DenseLayer layer, const Normalization& features, const KindOf& kind_of) {
  for (int o = 0; o < layer.outputs; ++o) {
    double bias = layer.bias[static_cast<std::size_t>(o)];
    for (int i = 0; i < layer.inputs; ++i) {
      if (kind_of(i) == CommInput::kDevices) continue;
      const auto at = static_cast<std::size_t>(i);
      float& weight =
          layer.weight[static_cast<std::size_t>(o) * static_cast<std::size_t>(layer.inputs) + at];
      bias -= static_cast<double>(weight) * features.mean[at] / features.std[at];
      weight = 0.0F;
    }
    layer.bias[static_cast<std::size_t>(o)] = static_cast<float>(bias);
  }
  return layer;
}

/// Costs that the network gives if columns and offsets are 0, on so many devices.
template <typename KindOf>
std::vector<double> costs_of_nothing(const Mlp& network, const Normalization& features, int devices,
                                     const KindOf& kind_of) {
  std::vector<double> values;
  for (int i = 0; i < network.inputs(); ++i) {
    const double value = kind_of(i) == CommInput::kDevices ? log2_of_devices(devices) : 0.0;
    const auto at = static_cast<std::size_t>(i);
    values.push_back((value - static_cast<double>(features.mean[at])) / features.std[at]);
  }
  for (const DenseLayer& layer : network.layers) {
    std::vector<double> outputs;
    for (int o = 0; o < layer.outputs; ++o) {
      const auto row = layer.weight.begin() + static_cast<std::ptrdiff_t>(o) * layer.inputs;
      const double bias = layer.bias[static_cast<std::size_t>(o)];
      const double sum = std::inner_product(values.begin(), values.end(), row, bias);
      outputs.push_back(&layer == &network.layers.back() ? sum : std::max(sum, 0.0));
    }
    values = std::move(outputs);
  }
  return values;
}

void weigh(DenseLayer& layer, double weight) {
  for (float& w : layer.weight) w = static_cast<float>(w * weight);
  for (float& b : layer.bias) b = static_cast<float>(b * weight);
}

/// The network times `factor`, and itself without columns times 1 - `factor`, side by side: the
/// last layer adds both up.
template <typename KindOf>
Mlp with_itself_of_nothing(const Mlp& network, const Normalization& features, double factor,
                           const KindOf& kind_of) {
  Mlp both = network;
  std::vector<DenseLayer>& layers = both.layers;
  const std::vector<DenseLayer>& base = network.layers;
  DenseLayer nothing = of_nothing(base.front(), features, kind_of);
  if (base.size() == 1) {
    weigh(layers.front(), factor);
    weigh(nothing, 1.0 - factor);
    for (std::size_t i = 0; i < nothing.weight.size(); ++i) {
      layers.front().weight[i] += nothing.weight[i];
    }
    for (std::size_t o = 0; o < nothing.bias.size(); ++o) layers.front().bias[o] += nothing.bias[o];
    return both;
  }
  layers.front() = side_by_side(base.front(), nothing, true);
  for (std::size_t k = 1; k + 1 < base.size(); ++k) {
    layers[k] = side_by_side(base[k], base[k], false);
  }
  DenseLayer& last = layers.back();
  last = {2 * base.back().inputs, base.back().outputs, {}, base.back().bias};
  for (int o = 0; o < last.outputs; ++o) {
    const auto row =
        base.back().weight.begin() + static_cast<std::ptrdiff_t>(o) * base.back().inputs;
    for (const double weight : {factor, 1.0 - factor}) {
      std::transform(row, row + base.back().inputs, std::back_inserter(last.weight),
                     [&](float w) { return static_cast<float>(w * weight); });
    }
  }
  return both;
}

/// `devices`: 0 if any number of them is an input. `factor`: with that of the unit.
template <typename Network, typename KindOf>
Network scaled_network(const Network& network, int devices, double factor, double column_unit,
                       const KindOf& kind_of) {
  Network scaled = network;
  if (devices == 0) {
    scaled.network = with_itself_of_nothing(network.network, network.features, factor, kind_of);
  } else {
    const std::vector<double> nothing =
        costs_of_nothing(network.network, network.features, devices, kind_of);
    DenseLayer& last = scaled.network.layers.back();
    weigh(last, factor);
    for (std::size_t o = 0; o < nothing.size(); ++o) {
      last.bias[o] = static_cast<float>(last.bias[o] + (1.0 - factor) * nothing[o]);
    }
  }
  for (int i = 0; i < network.network.inputs(); ++i) {
    if (kind_of(i) == CommInput::kDevices) continue;
    const double times = kind_of(i) == CommInput::kOffset ? factor : column_unit;
    const auto at = static_cast<std::size_t>(i);
    scaled.features.mean[at] = static_cast<float>(scaled.features.mean[at] * times);
    scaled.features.std[at] = static_cast<float>(scaled.features.std[at] * times);
  }
  return scaled;
}

void require_positive(double number, const char* what) {
  if (number > 0.0 && std::isfinite(number)) return;
  throw Error("communication of " + std::to_string(number) + what + "; give a positive number");
}

CommNetwork scaled_comm_network(const CommNetwork& network, int devices, double factor,
                                double column_unit) {
  require_positive(factor, " times as many bytes");
  require_positive(column_unit, " columns at once");
  if (factor == 1.0 && column_unit == 1.0) return network;
  factor *= column_unit;
  if (const auto* dense = std::get_if<DenseCommNetwork>(&network)) {
    return scaled_network(*dense, devices, factor, column_unit, [&](int input) {
      return input < devices ? CommInput::kColumns : CommInput::kOffset;
    });
  }
  return scaled_network(std::get<SymmetricCommNetwork>(network), devices, factor, column_unit,
                        [](int input) { return kSymmetricInputs[input]; });
}

}  // namespace

CommModel scaled_comm(const CommModel& model, int devices, const CommFactors& factors) {
  return {scaled_comm_network(model.forward, devices, factors.forward, factors.column_unit),
          scaled_comm_network(model.backward, devices, factors.backward, factors.column_unit)};
}

}  // namespace neuroshard
