#pragma once

#include <optional>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"
#include "neuroshard/waiting.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Cost of a plan after a change of it.
struct ChangedCost {
  double plan_ms = 0.0;
  double device_ms = 0.0;  ///< Cost of the changed device; of the dearest if several.
};

/// Share of a plan's costs that depends on one slice.
struct SliceExplanation {
  int slice = 0;  ///< Index, as in `Plan::shards`.
  TableSlice held;
  ChangedCost without;  ///< Cost if the slice were nowhere.
};

/// A table that is cut, with a slice on the deciding device.
struct CutExplanation {
  int table = 0;
  int slices = 0;       ///< Slices on all devices.
  int slices_here = 0;  ///< Slices on the deciding device.
  /// Cost if its slices on the deciding device were one. Nothing unless there are several, with all
  /// their columns of the same rows or all their rows of the same columns.
  std::optional<ChangedCost> merged{};
  /// Cost if the whole table were on one device: the one where the plan would cost least, among
  /// those with room for it that its rules allow. Nothing if there is none.
  int whole_device = -1;
  std::optional<ChangedCost> whole{};
};

/// Share of a plan's costs that depends on one device. An optional cost is there if the device has
/// what it is without.
struct DeviceExplanation {
  double wait_ms = 0.0;                         ///< Time by waits_ms().
  std::optional<ChangedCost> without_slices{};  ///< Cost if none of its slices were anywhere.
  std::optional<ChangedCost> without_base{};    ///< Cost if it had no base load to compute.
  std::optional<ChangedCost> at_full_speed{};   ///< Cost if its speed, which is below 1, were 1.
};

/// Explains why a plan costs what it does.
struct PlanExplanation {
  PlanCost cost;  ///< Cost by simulate().
  /// [devices]: how much later than the first one each begins its forward all-to-all.
  std::vector<double> start_offset_ms{};
  int deciding = 0;                                     ///< Device by deciding_device().
  std::vector<int> by_cost{};                           ///< Devices, the dearest first.
  std::vector<DeviceExplanation> devices{};             ///< [devices]
  std::vector<std::vector<SliceExplanation>> slices{};  ///< [devices], in the order of the shards.
  std::vector<CutExplanation> cuts{};                   ///< Cuts, ordered as the tables.
};

/// Prices `plan` with each slice left out, without what a device is late by, and with the cuts of
/// the deciding device's tables undone. Slices together save more or less than the sum of what each
/// saves: the next device decides sooner or later. Throws Error as simulate() does.
[[nodiscard]] PlanExplanation explain(const Backend& backend, const Task& task, const Plan& plan);

}  // namespace neuroshard
#pragma GCC visibility pop
