#pragma once

#include <cstdint>

#include "neuroshard/backend.h"
#include "neuroshard/cost_models.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Samples of an iteration whose costs can be predicted, by models of any batch.
inline constexpr std::int64_t kMinPricedBatch = 1024;
inline constexpr std::int64_t kMaxPricedBatch = std::int64_t{1} << 22;

/// Throws Error unless `models` know what an iteration of `batch_size` samples costs: between
/// kMinPricedBatch and kMaxPricedBatch, or just kDefaultBatchSize if they have the published table
/// features.
void require_batch(const CostModels& models, std::int64_t batch_size);

/// The same models for iterations of `batch_size` samples, from models for kDefaultBatchSize: those
/// of communication by scaled_comm(). Throws Error as require_batch() does.
[[nodiscard]] CostModels models_for_batch(CostModels models, std::int64_t batch_size);

/// Throws Error unless `backend` predicts costs of iterations of `task.batch_size` samples.
void require_batch(const Backend& backend, const Task& task);

/// Throws Error unless `backend` can price tables that every device holds.
void require_replicas(const Backend& backend);

}  // namespace neuroshard
#pragma GCC visibility pop
