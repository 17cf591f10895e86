#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/plan_request.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

// Groups of devices ("2D sparse parallelism"; TorchRec's DMPCollection): each group holds all
// tables, sharded over its own devices, and has its part of the batch. Now and then the copies of
// the tables are averaged over all groups. docs/device_groups.md has the formulas.

/// Says which devices are a group.
enum class GroupLayout {
  kConsecutive,  ///< Devices that follow each other: exchanges within groups have the fastest
                 ///< links.
  kInterleaved   ///< Every so many-th device: what is averaged has the fastest links.
};

/// "consecutive", "interleaved".
[[nodiscard]] std::span<const GroupLayout> all_group_layouts();
[[nodiscard]] std::string_view name_of(GroupLayout layout);
/// Throws Error listing the names.
[[nodiscard]] GroupLayout group_layout_from_name(std::string_view name);

/// Devices in groups of `size`.
struct DeviceGroups {
  int size = 0;
  GroupLayout layout = GroupLayout::kConsecutive;

  friend bool operator==(const DeviceGroups&, const DeviceGroups&) = default;
};

/// Makes a task of its own of a group: its devices, its part of the batch, rounded up, and its part
/// of what its nodes share with other groups. A single group is `task`. `network` is that of the
/// cost models; it says what the task's links do not. Throws Error unless `task` is valid, the size
/// divides its devices, groups are alike and fit nodes, and no rule names devices.
[[nodiscard]] Task task_of_group(const Task& task, const DeviceGroups& groups,
                                 const NodeNetwork& network);

/// The time to average `gib` GiB on each device: the all-reduces of all devices with those in
/// their place of the other groups, at once.
struct AveragingTime {
  double latency_ms = 0.0;
  double ms_per_gib = 0.0;

  [[nodiscard]] double ms(double gib) const {
    return gib > 0.0 ? latency_ms + ms_per_gib * gib : 0.0;
  }
};

/// Nothing for a single group. The arguments are those of task_of_group().
[[nodiscard]] AveragingTime averaging_time(const Task& task, const DeviceGroups& groups,
                                           const NodeNetwork& network);

/// A caller asks this of groups.
struct GroupsRequest {
  /// Devices of a group; those that are no divisor of the task's are an Error. Empty: all sizes
  /// that can be planned, from the least on, until two in turn are much dearer than the cheapest.
  std::vector<int> sizes{};
  std::vector<GroupLayout> layouts{};  ///< Empty: all.
  /// Averaging comes after so many iterations, 1 to kMostIterations; or, 0, so seldom that it takes
  /// `share` of the time of the iterations in between, above 0 to 1.
  double iterations = 0.0;
  double share = 0.05;
  bool optimizer_state = true;  ///< It is averaged with the weights.
  bool touched_rows = false;    ///< Only rows that some group looked up since are averaged.
  /// Its storage price must be 0. The deadline is that of all sizes together.
  PlanRequest plan{};
};

inline constexpr double kMostIterations = 1e9;

/// One way to group the devices.
struct GroupsPlan {
  DeviceGroups groups;
  int copies = 1;  ///< Groups, of which each holds all tables.
  Task task{};     ///< A group: its plan is one of this task.
  PlanResult result{};
  std::int64_t averaged_bytes = 0;  ///< Bytes on the device that has most.
  double averaging_ms = 0.0;        ///< Once.
  double iterations = 0.0;          ///< Iterations between two averagings. 0: there is none.
  double cost_ms = 0.0;             ///< An iteration, with its part of the averaging; or infinite.
};

struct GroupsResult {
  /// Plans are in the order of the request's sizes (ascending if it has none), and for each of
  /// them in that of its layouts.
  std::vector<GroupsPlan> plans;
  /// The cheapest of them; nothing if no size has a plan.
  std::optional<std::size_t> best;
  /// Sizes that were left out though none were asked for, each with its reason.
  std::vector<std::string> left_out;
};

}  // namespace neuroshard
#pragma GCC visibility pop
