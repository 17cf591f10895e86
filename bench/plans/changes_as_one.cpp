#include "bench/plans/changes_as_one.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

#include "neuroshard/error.h"
#include "search/replanning/kind_changes.h"

namespace neuroshard::bench {

ChangesAsOne::ChangesAsOne(const Task& task, const Plan& plan)
    : first_{task, plan, {}}, first_devices_(static_cast<std::size_t>(task.devices)), task_(task) {
  std::iota(first_devices_.begin(), first_devices_.end(), 0);
}

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
    const PlanResult anew = planner.plan(RunningKinds(task_, first_).task_within(spare_bytes));
    return {near.result.cost.cost_ms, anew.cost.cost_ms};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInvalidInput) throw;
    constexpr double kNone = std::numeric_limits<double>::infinity();
    return {kNone, kNone};
  }
}

}  // namespace neuroshard::bench
