#include "neuroshard/batch_support.h"

#include <string>

#include "core/message_text.h"
#include "neuroshard/comm_scaling.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

std::string samples_text(std::int64_t samples) {
  return format_count(static_cast<std::uint64_t>(samples));
}

}  // namespace

void require_batch(const CostModels& models, std::int64_t batch) {
  if (batch == kDefaultBatchSize) return;
  if (!models.compute.any_batch()) {
    throw Error("batch_size is " + std::to_string(batch) +
                ", but these cost models know batches of " + samples_text(kDefaultBatchSize) +
                " samples only; leave batch_size out, or take weights of any batch, such as the "
                "built-in ones");
  }
  if (batch < kMinPricedBatch || batch > kMaxPricedBatch) {
    throw Error("batch_size is " + std::to_string(batch) + "; costs can be predicted for " +
                samples_text(kMinPricedBatch) + " to " + samples_text(kMaxPricedBatch) +
                " samples; give a number between them");
  }
}

CostModels models_for_batch(CostModels models, std::int64_t batch_size) {
  require_batch(models, batch_size);
  models.batch_size = batch_size;
  if (batch_size == kDefaultBatchSize) return models;
  const double factor = static_cast<double>(batch_size) / static_cast<double>(kDefaultBatchSize);
  for (auto& [devices, model] : models.dense_comm) model = scaled_comm(model, devices, factor);
  if (models.symmetric_comm) models.symmetric_comm = scaled_comm(*models.symmetric_comm, 0, factor);
  return models;
}

void require_batch(const Backend& backend, const Task& task) {
  if (task.batch_size == backend.batch_size()) return;
  throw Error("batch_size is " + std::to_string(task.batch_size) +
              ", but the backend has models for " + samples_text(backend.batch_size()) +
              " samples; make one of models_for_batch()");
}

void require_replicas(const Backend& backend) {
  if (backend.prices_replicas()) return;
  throw Error(std::string("these cost models do not ") +
              (backend.all_reduce() == nullptr ? "price all-reduces"
                                               : "know operators of a device's part of the batch") +
              ", so plans with replicated tables have no cost; use weights that do, such as the "
              "built-in ones");
}

}  // namespace neuroshard
