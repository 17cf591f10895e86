#include "core/plans/touched_gradients.h"

#include <algorithm>

#include "core/plans/replicas.h"
#include "core/tables/access_statistics.h"
#include "core/tables/kernel_rates.h"
#include "core/tables/lookup_sort.h"
#include "core/tables/row_traffic.h"

namespace neuroshard {
namespace {

constexpr double kGatheredIdBytes = 8.0;

}  // namespace

TouchedGradients::TouchedGradients(const Task& task)
    : devices_(task.devices), batch_(static_cast<double>(task.batch_size)) {
  const bool any = std::ranges::any_of(task.tables, [](const Table& table) {
    return table.replica_gradients == ReplicaGradients::kTouched;
  });
  if (!any) return;
  of_device_.emplace(samples_of_replicas(task));
  of_batch_.emplace(batch_);
}

double TouchedGradients::distinct_rows(const Table& table, const HistogramScale& scale,
                                       double samples) {
  return access_profile(table, scale, samples).distinct_rows;
}

double TouchedGradients::gathered_rows(const Table& table) const {
  return devices_ * distinct_rows(table, *of_device_, batch_ / devices_);
}

double TouchedGradients::gathered_bytes(const Table& table) const {
  return gathered_rows(table) * (kGatheredIdBytes + fp32_row_bytes(table.dim));
}

ReplicaUpdate TouchedGradients::update(std::span<const Table* const> tables) const {
  ReplicaUpdate update;
  double gathered = 0.0;
  double rows = 0.0;
  for (const Table* table : tables) {
    const double state_bytes = moved_state_row_bytes(table->memory.optimizer, table->dim);
    if (table->replica_gradients != ReplicaGradients::kTouched) {
      update.copied_bytes += 2.0 * state_bytes * static_cast<double>(table->rows);
      continue;
    }
    const double of_table = gathered_rows(*table);
    if (of_table == 0.0) continue;
    const double gradient_bytes = moved_fp32_row_bytes(table->dim);
    const double weight_bytes = moved_weight_row_bytes(table->memory.weight_type, table->dim);
    const double updated = std::min(of_table, distinct_rows(*table, *of_batch_, batch_));
    gathered += of_table;
    rows += static_cast<double>(table->rows);
    update.gathered_bytes += of_table * (kGatheredIdBytes + fp32_row_bytes(table->dim));
    update.copied_bytes +=
        kCopyRate / kGatherRate *
        (of_table * (kSortedBytes + gradient_bytes) + 2.0 * updated * (weight_bytes + state_bytes));
  }
  if (gathered == 0.0) return update;
  const LookupSort sort = lookup_sort(gathered, rows);
  update.copied_bytes += sort.copied_bytes;
  update.launches = sort.launches;
  return update;
}

double replica_update_ms(const AllReduceModel& model, int devices, const ReplicaUpdate& update) {
  const double half_bytes = update.gathered_bytes / 2.0;
  const double moved_ms = model.all_reduce_ms(devices, half_bytes);
  const auto alone = model.lines.find(1);
  if (update.copied_bytes == 0.0 || alone == model.lines.end()) return moved_ms;
  const AllReduceModel::Line& line = alone->second;
  const double gib = static_cast<double>(bytes_from_gib(1.0));
  const double update_ms = line.latency_ms * (update.launches / kDenseLaunches) +
                           line.ms_per_gib * (update.copied_bytes / kDensePasses / gib);
  return std::max(0.0, moved_ms - model.all_reduce_ms(1, half_bytes)) + update_ms;
}

}  // namespace neuroshard
