#include "neuroshard/training_ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "core/base/message_text.h"
#include "core/base/number_in.h"
#include "core/plans/priced_plan.h"
#include "core/plans/replicas.h"
#include "core/plans/slice_tables.h"
#include "neuroshard/comm_setting.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

constexpr std::string_view kRangeInfix = ".range.";
constexpr std::string_view kRangeSeparator = " to ";

std::optional<double> finite_number(std::string_view text) {
  const std::optional<double> value = number_in<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<TrainingRange> parsed_range(std::string_view text) {
  const std::size_t middle = text.find(kRangeSeparator);
  if (middle == std::string_view::npos) return {};
  const auto low = finite_number(text.substr(0, middle));
  const auto high = finite_number(text.substr(middle + kRangeSeparator.size()));
  if (!low || !high || *low > *high) return {};
  return TrainingRange{*low, *high};
}

std::string readable(double value) {
  constexpr double kMostDigits = 1e15;
  const bool whole = value == std::floor(value) && value >= 0.0 && value < kMostDigits;
  return whole ? format_count(static_cast<std::uint64_t>(value)) : format_number(value, 3);
}

/// Values of one quantity that are not in its range.
class Outliers {
 public:
  Outliers(std::string quantity, const TrainingRange* range)
      : quantity_(std::move(quantity)), range_(range) {}

  /// "table 3", or an owner that there is one of, begins a sentence.
  void look_at(double value, std::string_view owner, std::optional<int> index = std::nullopt) {
    if (range_ == nullptr || range_->contains(value) || count_++ > 0) return;
    first_ = std::string(owner) + (index ? " " + std::to_string(*index) : "") + " has " +
             readable(value);
  }

  [[nodiscard]] bool known() const { return range_ != nullptr; }
  [[nodiscard]] double least() const { return range_->low; }  ///< Requires known().

  void append_to(std::string& text) const {
    if (count_ == 0) return;
    text += text.empty() ? "" : "; ";
    text += quantity_ + " from " + readable(range_->low) + " to " + readable(range_->high) +
            ", but " + first_;
    if (count_ > 1) text += " (and " + counted(count_ - 1, "other") + ")";
  }

 private:
  std::string quantity_;
  const TrainingRange* range_;
  std::size_t count_ = 0;
  std::string first_;
};

/// Fewer bytes than any sample has take what a launch and latencies do, which samples have shown.
void look_at_gradients(const Task& task, const Plan& plan, Outliers& gradients) {
  if (!gradients.known()) return;
  const ReplicaTraffic traffic = replica_traffic(task, plan);
  // An all-gather is priced as an all-reduce of half its bytes.
  for (const double bytes : {traffic.dense_bytes, traffic.update.gathered_bytes / 2.0}) {
    gradients.look_at(std::max(bytes, gradients.least()), "that of replicas");
  }
}

}  // namespace

void TrainingRange::extend(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
}

std::string TrainingRange::text() const {
  return shortest_text(low) + std::string(kRangeSeparator) + shortest_text(high);
}

TrainingRanges::TrainingRanges(const CostModels& models) : forward_scale_(models.forward_scale) {
  for (const auto& [key, text] : models.metadata) {
    if (key.find(kRangeInfix) == std::string::npos) continue;
    const std::optional<TrainingRange> range = parsed_range(text);
    if (!range) {
      std::string message = "cost models: the metadata's '";
      message.append(key).append("' is '").append(text);
      throw Error(message.append("'; expected two numbers, 'LOW to HIGH'"));
    }
    ranges_.emplace(key, *range);
  }
  for (const auto& [devices, model] : models.dense_comm) dense_comm_.insert(devices);
  for (const auto& [kind, price] : models.kind_prices) priced_.insert(kind);
}

std::string TrainingRanges::key(std::string_view part, std::string_view quantity) {
  return std::string(part) + std::string(kRangeInfix) + std::string(quantity);
}

std::string TrainingRanges::comm_part(int devices) const {
  return dense_comm_.contains(devices) ? "comm." + std::to_string(devices) : "comm.symmetric";
}

double TrainingRanges::most_start_offset_ms(int devices) const {
  const TrainingRange* const range = find(comm_part(devices), "start_offset_ms");
  return range == nullptr ? std::numeric_limits<double>::infinity() : forward_scale_ * range->high;
}

const TrainingRange* TrainingRanges::find(const std::string& part,
                                          std::string_view quantity) const {
  const auto found = ranges_.find(key(part, quantity));
  return found == ranges_.end() ? nullptr : &found->second;
}

std::string TrainingRanges::warning(const Task& given, const Plan& given_plan,
                                    const PlanCost& cost) const {
  if (!known()) return {};
  const PricedPlan priced(given, given_plan);
  const Plan& plan = priced.plan();
  const Task& task = priced.task();
  const std::string compute = "compute";
  const std::string comm = comm_part(task.devices);
  Outliers rows("rows", find(compute, "row"));
  Outliers pooling("pooling factors", find(compute, "pooling_factor"));
  Outliers dims("slices with columns", find(compute, "dim"));
  Outliers slices("devices with slices", find(compute, "slices"));
  Outliers dim_sums("devices with columns", find(comm, "dim_sum"));
  Outliers samples("operators of samples", find(compute, "samples"));
  Outliers gradients("all-reduces of bytes", find("all_reduce", "bytes"));
  // To operators a table that is not pooled is one of as many samples with one lookup each.
  const auto look_at_lookups = [&](const Table& table, double of_samples, const char* owner,
                                   int index) {
    if (table.pooling == Pooling::kNone) {
      samples.look_at(
          std::max(samples.known() ? samples.least() : 0.0, of_samples * table.pooling_factor),
          owner, index);
    } else {
      pooling.look_at(table.pooling_factor, owner, index);
    }
  };
  const bool blocks_priced =
      priced_.contains(ShardingKind::kRow) || priced_.contains(ShardingKind::kTableRow);
  const auto is_predicted = [&](const TableSlice& slice) {
    return !(blocks_priced && is_row_block(task, slice));
  };
  std::vector<bool> looked_at(task.tables.size(), false);
  for (const TableSlice& slice : plan.slices) {
    if (!is_predicted(slice)) continue;
    dims.look_at(slice.dim, "one of table", slice.table);
    const bool block = is_row_block(task, slice);
    // Columns of a table have its rows and pooling factor.
    if (!block && looked_at[static_cast<std::size_t>(slice.table)]) continue;
    looked_at[static_cast<std::size_t>(slice.table)] = true;
    const char* owner = block ? "a row block of table" : "table";
    rows.look_at(static_cast<double>(slice.rows), owner, slice.table);
    look_at_lookups(sized_table_of(task, slice), static_cast<double>(task.batch_size), owner,
                    slice.table);
  }
  const bool replicas_predicted =
      has_tables_on_every_device(plan) && !priced_.contains(ShardingKind::kReplicate);
  if (replicas_predicted) {
    for (const int replica : plan.replicas) {
      const Table& table = task.tables[static_cast<std::size_t>(replica)];
      const int listed = priced.listed(replica);
      rows.look_at(static_cast<double>(table.rows), "table", listed);
      look_at_lookups(table, samples_of_replicas(task), "table", listed);
      dims.look_at(table.dim, "the replica of table", listed);
    }
    slices.look_at(static_cast<double>(plan.replicas.size() + plan.deduplicated.size()),
                   "each device's operator of replicas");
    samples.look_at(samples_of_replicas(task), "that of replicas");
  }
  if (!plan.replicas.empty()) look_at_gradients(task, plan, gradients);
  const bool any_slices = !plan.slices.empty();  // Else there is no all-to-all.
  const double column_unit = comm_setting(given).column_unit;
  if (any_slices) samples.look_at(static_cast<double>(task.batch_size), "that of slices");
  for (std::size_t i = 0; i < cost.devices.size(); ++i) {
    const DeviceCost& device = cost.devices[i];
    const int index = static_cast<int>(i);
    int count = device.slices;
    std::int64_t dim_sum = device.dim_sum;
    for (const int index_of_slice : plan.shards[i]) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index_of_slice)];
      if (is_predicted(slice)) continue;
      --count;
      dim_sum -= output_columns(sized_table_of(task, slice), slice.dim);
    }
    // A device without slices is no sample of the compute model, but has a cost of its own.
    if (count > 0) slices.look_at(count, "device", index);
    if (!any_slices) continue;
    dim_sums.look_at(static_cast<double>(dim_sum) / column_unit, "device", index);
  }
  std::string text;
  for (const Outliers* outliers :
       {&rows, &pooling, &dims, &slices, &samples, &dim_sums, &gradients}) {
    outliers->append_to(text);
  }
  const auto look_at_devices = [&](std::string_view of, const TrainingRange* devices) {
    // Models of so many devices serve more (docs/model_card.md).
    const int seen = std::min(task.devices, kMostDevicesOfModels);
    if (devices == nullptr || devices->contains(seen)) return;
    text += text.empty() ? "" : "; ";
    text.append(of) += readable(devices->low) + " to " + readable(devices->high) +
                       " devices, but the task has " + std::to_string(task.devices);
  };
  if (any_slices) look_at_devices("", find(comm, "devices"));
  if (!plan.replicas.empty()) look_at_devices("all-reduces on ", find("all_reduce", "devices"));
  return text.empty() ? text
                      : "the cost models were trained on " + text + ": predictions are doubtful";
}

}  // namespace neuroshard
