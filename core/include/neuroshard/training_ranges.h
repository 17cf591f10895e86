#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "neuroshard/cost_models.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Lowest and highest value of a quantity among training samples.
struct TrainingRange {
  double low = 0.0;
  double high = 0.0;

  [[nodiscard]] bool contains(double value) const { return value >= low && value <= high; }
  void extend(double value);
  /// "3 to 500000000", as metadata have it.
  [[nodiscard]] std::string text() const;
};

/// Stands for all numbers of devices that no dense communication model is for.
inline constexpr int kAnyOtherDevices = 0;

/// Ranges that cost models were trained on, as far as their metadata state them:
/// `PART.range.QUANTITY` (docs/weights_format.md).
class TrainingRanges {
 public:
  /// Throws Error naming the key if a range is not two numbers, "LOW to HIGH".
  explicit TrainingRanges(const CostModels& models);

  /// False if the metadata say nothing.
  [[nodiscard]] bool known() const { return !ranges_.empty(); }

  /// Says in one line what lies outside the ranges that the models were trained on. It is empty if
  /// nothing does, or if the ranges are not known. `plan` is valid for `stated` and has this cost.
  /// Shards that have a price of their kind are not looked at; gradients of replicas are reported
  /// only if they are larger.
  [[nodiscard]] std::string warning(const Task& stated, const Plan& plan,
                                    const PlanCost& cost) const;

  /// The most milliseconds by which the last device starts an all-to-all later than the first one,
  /// in the samples of the communication model for `devices`. It is scaled to the batch and the
  /// nodes that the models are for. Infinite if that is not known.
  [[nodiscard]] double most_start_offset_ms(int devices) const;

  /// The metadata key of a range: "compute", "row" give "compute.range.row".
  [[nodiscard]] static std::string key(std::string_view part, std::string_view quantity);

 private:
  /// "comm.4", "comm.symmetric".
  [[nodiscard]] std::string comm_part(int devices) const;
  [[nodiscard]] const TrainingRange* find(const std::string& part, std::string_view quantity) const;

  std::map<std::string, TrainingRange> ranges_;  ///< Keys are those of metadata.
  double forward_scale_;                         ///< CostModels'.
  std::set<int> dense_comm_;                     ///< Device counts with a model of their own.
  std::set<ShardingKind> priced_;                ///< Kinds that no network predicts.
};

}  // namespace neuroshard
#pragma GCC visibility pop
