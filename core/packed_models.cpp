#include "core/packed_models.h"

#include "neuroshard/error.h"

namespace neuroshard {

PackedModels::PackedModels(const CostModels& models) : compute_(models.compute) {
  for (const auto& [devices, model] : models.dense_comm) dense_.try_emplace(devices, model);
  if (models.symmetric_comm) symmetric_.emplace(*models.symmetric_comm);
}

const PackedCommModel& PackedModels::comm_for(int devices) const {
  if (const auto found = dense_.find(devices); found != dense_.end()) return found->second;
  if (symmetric_) return *symmetric_;
  throw Error("no communication model for " + std::to_string(devices) + " devices");
}

}  // namespace neuroshard
