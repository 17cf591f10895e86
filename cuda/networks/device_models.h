#pragma once

#include <map>
#include <optional>
#include <vector>

#include "cuda/device/buffers.h"
#include "cuda/networks/network_view.h"
#include "neuroshard/cost_models.h"

namespace neuroshard::gpu {

/// The weights of all networks in the memory of the current device, as kernels read them.
class DeviceModels {
 public:
  explicit DeviceModels(const CostModels& models);

  [[nodiscard]] const NormalizationView& table_features() const { return table_features_; }
  [[nodiscard]] const MlpView& table_network() const { return table_network_; }
  [[nodiscard]] const MlpView& head() const { return head_; }
  /// Throws Error as CostModels::comm_for does.
  [[nodiscard]] const CommView& comm_for(int devices) const;

 private:
  DeviceBuffer memory_;
  NormalizationView table_features_;
  MlpView table_network_;
  MlpView head_;
  std::map<int, CommView> dense_comm_;
  std::optional<CommView> symmetric_comm_;
};

}  // namespace neuroshard::gpu
