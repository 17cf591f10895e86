#include "cuda/networks/device_models.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "neuroshard/error.h"
#include "neuroshard/training_ranges.h"

namespace neuroshard::gpu {
namespace {

// Lays networks out in one piece of host memory, then copies it. A first pass over the networks
// only measures; the second knows where everything will lie and writes pointers to it.
class Packer {
 public:
  /// `target`: where the bytes will be; null while measuring.
  Packer(std::byte* target, std::size_t bytes) : target_(target), image_(bytes) {}

  NormalizationView pack(const Normalization& features) {
    return {put(features.mean), put(features.std)};
  }

  MlpView pack(const Mlp& mlp) {
    MlpView view{.count = static_cast<int>(mlp.layers.size()),
                 .inputs = mlp.inputs(),
                 .outputs = mlp.outputs(),
                 .width = round_to_4(mlp.inputs())};
    std::vector<LayerView> layers;
    const std::size_t first = used_;
    for (const DenseLayer& layer : mlp.layers) {
      layers.push_back({put(quads(layer)), put(layer.bias), layer.inputs, layer.outputs});
      view.width = std::max(view.width, round_to_4(layer.outputs));
    }
    view.layers = put(layers);
    view.memory = target_ == nullptr ? nullptr : target_ + first;
    view.bytes = static_cast<int>(used_ - first);
    return view;
  }

  /// Backward all devices start at once.
  CommView pack(const CommModel& model, double most_offset_ms) {
    CommView view{pack(model.forward), pack(model.backward)};
    view.forward.most_offset_ms = static_cast<float>(most_offset_ms);
    return view;
  }

  CommNetworkView pack(const CommNetwork& network) {
    return std::visit([&](const auto& n) { return pack_network(n); }, network);
  }

  [[nodiscard]] std::size_t bytes() const { return used_; }
  [[nodiscard]] const std::byte* image() const { return image_.data(); }

 private:
  CommNetworkView pack_network(const DenseCommNetwork& n) { return pack_network(n, false); }
  CommNetworkView pack_network(const SymmetricCommNetwork& n) { return pack_network(n, true); }
  template <class Network>
  CommNetworkView pack_network(const Network& n, bool symmetric) {
    const std::size_t first = used_;
    CommNetworkView view{pack(n.features), pack(n.network), symmetric};
    view.mlp.memory = target_ == nullptr ? nullptr : target_ + first;
    view.mlp.bytes = static_cast<int>(used_ - first);
    return view;
  }

  // The order of LayerView::weight.
  static std::vector<float> quads(const DenseLayer& layer) {
    if (layer.outputs == 1) return layer.weight;
    const auto inputs = static_cast<std::size_t>(layer.inputs);
    const auto outputs = static_cast<std::size_t>(layer.outputs);
    std::vector<float> packed(static_cast<std::size_t>(round_to_4(layer.inputs)) * outputs);
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t i = 0; i < inputs; ++i) {
        packed[(i / 4 * outputs + o) * 4 + i % 4] = layer.weight[o * inputs + i];
      }
    }
    return packed;
  }

  template <typename T>
  const T* put(const std::vector<T>& values) {
    const std::size_t bytes = values.size() * sizeof(T);
    const std::size_t at = used_;
    used_ += (bytes + 15) / 16 * 16;  // Kernels read 16 bytes at a time.
    if (target_ == nullptr) return nullptr;
    std::memcpy(image_.data() + at, values.data(), bytes);
    return reinterpret_cast<const T*>(target_ + at);
  }

  std::byte* target_;
  std::vector<std::byte> image_;
  std::size_t used_ = 0;
};

}  // namespace

DeviceModels::DeviceModels(const CostModels& models) {
  const TrainingRanges ranges(models);
  const auto pack_all = [&](Packer& packer) {
    table_features_ = packer.pack(models.compute.features);
    table_network_ = packer.pack(models.compute.table_network);
    head_ = packer.pack(models.compute.head);
    for (const auto& [devices, model] : models.dense_comm) {
      dense_comm_[devices] = packer.pack(model, ranges.most_start_offset_ms(devices));
    }
    if (models.symmetric_comm) {
      symmetric_comm_ =
          packer.pack(*models.symmetric_comm, ranges.most_start_offset_ms(kAnyOtherDevices));
    }
  };
  Packer measure(nullptr, 0);
  pack_all(measure);
  memory_.reserve(measure.bytes());
  Packer packer(memory_.data(), measure.bytes());
  pack_all(packer);
  const Stream stream;
  stream.copy_to_device(memory_.data(), packer.image(), packer.bytes());
  stream.synchronize();
}

const CommView& DeviceModels::comm_for(int devices) const {
  if (const auto found = dense_comm_.find(devices); found != dense_comm_.end()) {
    return found->second;
  }
  if (symmetric_comm_) return *symmetric_comm_;
  throw Error("no communication model for " + std::to_string(devices) + " devices");
}

}  // namespace neuroshard::gpu
