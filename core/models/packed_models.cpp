#include "core/models/packed_models.h"

#include <variant>

#include "core/models/comm_choice.h"
#include "neuroshard/training_ranges.h"

namespace neuroshard {
namespace {

const Mlp& mlp_of(const CommNetwork& network) {
  return std::visit([](const auto& n) -> const Mlp& { return n.network; }, network);
}

const Normalization& features_of(const CommNetwork& network) {
  return std::visit([](const auto& n) -> const Normalization& { return n.features; }, network);
}

}  // namespace

PackedCommNetwork::PackedCommNetwork(const CommNetwork& network,
                                     const std::optional<NodeColumns>& nodes, double most_offset_ms)
    : symmetric(std::holds_alternative<SymmetricCommNetwork>(network)),
      features(features_of(network)),
      mlp(mlp_of(network)),
      nodes(nodes),
      most_offset_ms(static_cast<float>(most_offset_ms)) {}

PackedModels::PackedModels(const CostModels& models) : compute_(models.compute) {
  const TrainingRanges ranges(models);
  for (const auto& [devices, model] : models.dense_comm) {
    dense_.try_emplace(devices, model, models.nodes, ranges.most_start_offset_ms(devices));
  }
  if (models.symmetric_comm) {
    symmetric_.emplace(*models.symmetric_comm, models.nodes,
                       ranges.most_start_offset_ms(kAnyOtherDevices));
  }
}

const PackedCommModel& PackedModels::comm_for(int devices) const {
  return comm_model_for(dense_, symmetric_, devices);
}

}  // namespace neuroshard
