#include "core/packed_models.h"

#include "core/comm_choice.h"

namespace neuroshard {

PackedModels::PackedModels(const CostModels& models) : compute_(models.compute) {
  for (const auto& [devices, model] : models.dense_comm) {
    dense_.try_emplace(devices, model, models.nodes);
  }
  if (models.symmetric_comm) symmetric_.emplace(*models.symmetric_comm, models.nodes);
}

const PackedCommModel& PackedModels::comm_for(int devices) const {
  return comm_model_for(dense_, symmetric_, devices);
}

}  // namespace neuroshard
