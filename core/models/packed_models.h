#pragma once

#include <limits>
#include <map>
#include <optional>

#include "core/models/packed_mlp.h"
#include "neuroshard/cost_models.h"

namespace neuroshard {

struct PackedComputeModel {
  explicit PackedComputeModel(const ComputeModel& model)
      : features(model.features), table_network(model.table_network), head(model.head) {}

  Normalization features;
  PackedMlp table_network;
  PackedMlp head;
};

/// Weights of one communication network as the CPU kernels read them.
struct PackedCommNetwork {
  /// `nodes`: CostModels'.
  /// `most_offset_ms`: TrainingRanges::most_start_offset_ms().
  explicit PackedCommNetwork(const CommNetwork& network,
                             const std::optional<NodeColumns>& nodes = std::nullopt,
                             double most_offset_ms = std::numeric_limits<double>::infinity());

  bool symmetric = false;
  Normalization features;
  PackedMlp mlp;
  std::optional<NodeColumns> nodes;
  float most_offset_ms;  ///< The latest start that it knows (core/models/seen_offsets.h).
};

struct PackedCommModel {
  /// Backward all devices start at once.
  PackedCommModel(const CommModel& model, const std::optional<NodeColumns>& nodes,
                  double most_offset_ms)
      : forward(model.forward, nodes, most_offset_ms), backward(model.backward, nodes) {}

  PackedCommNetwork forward;
  PackedCommNetwork backward;
};

/// All models of a backend.
class PackedModels {
 public:
  explicit PackedModels(const CostModels& models);

  [[nodiscard]] const PackedComputeModel& compute() const { return compute_; }
  /// Throws Error as CostModels::comm_for does.
  [[nodiscard]] const PackedCommModel& comm_for(int devices) const;

 private:
  PackedComputeModel compute_;
  std::map<int, PackedCommModel> dense_;
  std::optional<PackedCommModel> symmetric_;
};

}  // namespace neuroshard
