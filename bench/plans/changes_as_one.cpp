#include "bench/plans/changes_as_one.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/count_up.h"
#include "core/tables/table_rules.h"
#include "neuroshard/error.h"
#include "search/state/running_holders.h"

namespace neuroshard::bench {
namespace {

/// The task, whose rules forbid replicas of tables for which more than `spare_bytes` would have to
/// be moved beyond what no device holds. No plan within such a budget has them.
Task without_dear_replicas(const Task& task, const RunningPlan& running, std::int64_t spare_bytes) {
  const RunningHolders holders(task, running);
  Task ruled = task;
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    if (holders.is_replicated(t) || !may_be_sharded(task, table, ShardingKind::kReplicate) ||
        !may_be_in_columns(task, table)) {
      continue;
    }
    std::int64_t bytes = -holders.missing_bytes(t);
    for (int device = 0; device < task.devices && bytes <= spare_bytes; ++device) {
      bytes += holders.moved_bytes({static_cast<int>(t), 0, table.dim, 0, table.rows}, device);
    }
    if (bytes <= spare_bytes) continue;
    std::vector<ShardingKind> left;
    for (const ShardingKind kind : all_sharding_kinds()) {
      if (kind != ShardingKind::kReplicate && table.rules.allow(kind)) left.push_back(kind);
    }
    ruled.tables[t].rules.kinds = std::move(left);
  }
  return ruled;
}

}  // namespace

ChangesAsOne::ChangesAsOne(const Task& task, const Plan& plan)
    : first_{task, plan, {}},
      first_devices_(count_up<int>(static_cast<std::size_t>(task.devices))),
      task_(task) {}

void ChangesAsOne::add(const Changed& changed, const ReplanRequest& request,
                       const ReplanResult& replanned) {
  std::vector<int> lost = changed.lost_devices;
  std::ranges::sort(lost, std::ranges::greater{});
  for (const int device : lost) {
    const auto place = first_devices_.begin() + device;
    if (*place >= 0) first_.lost_devices.push_back(*place);
    first_devices_.erase(place);
  }
  first_devices_.resize(static_cast<std::size_t>(changed.task.devices), -1);
  task_ = changed.task;
  moved_bytes_ += replanned.moved_bytes;
  unspent_bytes_ = replanned.unspent_bytes + (request.unspent_bytes ? 0 : unspent_bytes_);
}

ChangesAsOne::Costs ChangesAsOne::costs(const Planner& planner) const {
  ReplanRequest request;
  request.most_moved_bytes = moved_bytes_ + unspent_bytes_;
  try {
    const ReplanResult near = planner.replan(task_, first_, request);
    const std::int64_t spare_bytes =
        std::max<std::int64_t>(0, *request.most_moved_bytes - near.must_move_bytes);
    const PlanResult anew = planner.plan(without_dear_replicas(task_, first_, spare_bytes));
    return {near.result.cost.cost_ms, anew.cost.cost_ms};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInvalidInput) throw;
    constexpr double kNone = std::numeric_limits<double>::infinity();
    return {kNone, kNone};
  }
}

}  // namespace neuroshard::bench
