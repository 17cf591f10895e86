#include "core/models/packed_models.h"

#include "core/models/comm_choice.h"
#include "neuroshard/training_ranges.h"

namespace neuroshard {

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
