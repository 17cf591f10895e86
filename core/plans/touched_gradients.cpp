#include "core/plans/touched_gradients.h"

#include <algorithm>
#include <cmath>

#include "core/plans/replicas.h"
#include "core/tables/access_statistics.h"
#include "core/tables/kernel_rates.h"
#include "core/tables/lookup_bytes.h"
#include "core/tables/row_traffic.h"
#include "core/tables/stated_gib.h"
#include "core/tables/table_work.h"

namespace neuroshard {
namespace {

constexpr double kKeyBytes = 8.0;
constexpr double kSortedBytes = 12.0;  // 8 for a row of the tables, 4 for where it was gathered.
// Plain copies that take as long as the sort moves its bytes.
constexpr double kTimesOfACopy = 6.0;
// Keys, one more than passes, segments, short and long rows.
constexpr double kLaunchesBesidesPasses = 5.0;

/// Elements are as wide as weights.
double dense_gradient_bytes(const Table& table) {
  return static_cast<double>(weight_bytes(table.memory.weight_type).per_column) *
         static_cast<double>(table.rows) * table.dim;
}

/// Bytes that a plain copy moves in the time that a gathered row takes to be grouped with its like.
double copied_bytes_of_sort(double passes) {
  double bytes = kIdBytes + kSortedBytes;  // Keys are made from the ids.
  bytes += kKeyBytes;                      // Digit counts.
  bytes += 2.0 * kSortedBytes * passes;    // Each pass reads and writes all pairs.
  bytes += kKeyBytes;                      // Ends of the runs of equal keys.
  return kTimesOfACopy * bytes;
}

}  // namespace

TouchedGradients::TouchedGradients(const Task& task, double between_share)
    : devices_(task.devices),
      batch_(static_cast<double>(task.batch_size)),
      between_share_(between_share) {
  bool any = false;
  int node_devices = 1;
  for (const Table& table : task.tables) {
    if (table.replica_gradients != ReplicaGradients::kTouched) continue;
    any = true;
    node_devices = std::max(node_devices, table.replica_devices);
  }
  if (!any) return;
  of_device_.emplace(samples_of_replicas(task));
  if (node_devices > 1) of_node_.emplace(node_devices * samples_of_replicas(task));
  of_batch_.emplace(batch_);
}

double TouchedGradients::distinct_rows(const Table& table, const HistogramScale& scale,
                                       double samples) {
  return access_profile(table, scale, samples).distinct_rows;
}

// A device does its part of the update, which dense gradients count by their bytes, even if links
// take less.
double TouchedGradients::share_of_links(const Table& table) const {
  return table.replica_devices == 1 ? 1.0 : std::max(between_share_, 1.0 / table.replica_devices);
}

double TouchedGradients::dense_bytes(const Table& table) const {
  if (table.replica_gradients != ReplicaGradients::kDense) return 0.0;
  return share_of_links(table) * dense_gradient_bytes(table);
}

double TouchedGradients::gathered_rows(const Table& table) const {
  const double devices = devices_;
  if (table.replica_devices == 1) {
    return devices * distinct_rows(table, *of_device_, batch_ / devices);
  }
  const double n = table.replica_devices;
  return devices / n * distinct_rows(table, *of_node_, n * batch_ / devices) / n;
}

double TouchedGradients::gathered_bytes(const Table& table) const {
  return gathered_rows(table) * (kIdBytes + fp32_row_bytes(table.dim));
}

ReplicaUpdate TouchedGradients::update(std::span<const Table* const> tables) const {
  ReplicaUpdate update;
  double gathered = 0.0;
  double rows = 0.0;
  for (const Table* table : tables) {
    const double state_bytes = moved_state_row_bytes(table->memory.optimizer, table->dim);
    const double parts = table->replica_devices;
    if (table->replica_gradients != ReplicaGradients::kTouched) {
      update.copied_bytes += 2.0 * state_bytes * static_cast<double>(table->rows) / parts;
      // The pass over these bytes is counted with those that are added up.
      update.copied_bytes +=
          kDensePasses * (1.0 / parts - share_of_links(*table)) * dense_gradient_bytes(*table);
      continue;
    }
    const double of_table = gathered_rows(*table);
    if (of_table == 0.0) continue;
    const double gradient_bytes = moved_fp32_row_bytes(table->dim);
    const double weight_bytes = moved_weight_row_bytes(table->memory.weight_type, table->dim);
    const double updated = std::min(of_table, distinct_rows(*table, *of_batch_, batch_) / parts);
    gathered += of_table;
    rows += static_cast<double>(table->rows) / parts;
    // An all-gather of all devices sends nodes this part of its bytes over each link between them.
    const double links = parts == 1.0 ? 1.0 : parts * between_share_;
    update.gathered_bytes += links * of_table * (kIdBytes + fp32_row_bytes(table->dim));
    update.copied_bytes +=
        kCopyRate / kGatherRate *
        (of_table * (kSortedBytes + gradient_bytes) + 2.0 * updated * (weight_bytes + state_bytes));
  }
  if (gathered == 0.0) return update;
  const double passes = sort_passes(rows);
  update.copied_bytes += gathered * copied_bytes_of_sort(passes);
  update.launches = kLaunchesBesidesPasses + std::ceil(passes);
  return update;
}

double replica_update_ms(const CollectiveModel& model, int devices, const ReplicaUpdate& update) {
  const double half_bytes = update.gathered_bytes / 2.0;
  const double moved_ms = model.cost_ms(devices, half_bytes);
  const auto alone = model.lines.find(1);
  if (update.copied_bytes == 0.0 || alone == model.lines.end()) return moved_ms;
  const CollectiveModel::Line& line = alone->second;
  const double update_ms = line.latency_ms * (update.launches / kDenseLaunches) +
                           line.ms_per_gib * (update.copied_bytes / kDensePasses / kGib);
  return std::max(0.0, moved_ms - model.cost_ms(1, half_bytes)) + update_ms;
}

}  // namespace neuroshard
