// Devices in groups that each hold all tables: Planner::plan_groups().
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "core/base/message_text.h"
#include "core/tables/row_popularity.h"
#include "neuroshard/error.h"
#include "neuroshard/task_models.h"
#include "search/planner_impl.h"

namespace neuroshard {
namespace {

void validate(const GroupsRequest& request) {
  if (request.iterations == 0.0) {
    if (!(request.share > 0.0 && request.share <= 1.0)) {
      throw Error("the share of averaging is " + shortest_text(request.share) +
                  "; give above 0 to 1, or the iterations between two averagings");
    }
  } else if (!(request.iterations >= 1.0 && request.iterations <= kMostIterations)) {
    throw Error("averaging comes after " + shortest_text(request.iterations) +
                " iterations; give 1 to 1e9");
  }
  if (request.plan.storage.ms_per_gib != 0.0) {
    throw Error("groups price what tables store by averaging; leave that price out of the request");
  }
}

std::vector<int> divisors(int devices) {
  std::vector<int> sizes;
  for (int size = 1; size <= devices; ++size) {
    if (devices % size == 0) sizes.push_back(size);
  }
  return sizes;
}

/// Layouts that come to the same are planned once.
bool is_first_of_its_kind(const Task& task, const DeviceGroups& groups) {
  const bool one_layout =
      groups.size == 1 || groups.size == task.devices || task.devices <= task.devices_per_node;
  return groups.layout == GroupLayout::kConsecutive || !one_layout;
}

/// Throws Error if it is seen without planning that a group has no plan.
void require_plannable(const CostModels& models, const Task& group) {
  (void)models.comm_for(group.devices);
  require_batch(models, group.batch_size);
  if (total_bytes(group) <= total_room_bytes(group)) return;
  throw Error("tables take " + format_bytes(total_bytes(group)) + ", and a group has room for " +
              format_bytes(total_room_bytes(group)));
}

/// Price of the rows that are averaged after so many iterations of `batch` samples in all groups.
StoragePrice averaged(const GroupsRequest& request, std::int64_t batch, double iterations) {
  return {
      .optimizer_state = request.optimizer_state,
      .touched_in_samples = request.touched_rows ? iterations * static_cast<double>(batch) : 0.0};
}

/// The averaging of a group that is planned.
class Averaging {
 public:
  /// Borrows all but the last.
  Averaging(const GroupsRequest& request, const Task& task, const GroupsPlan& plan,
            const AveragingTime& time)
      : request_(request),
        batch_(task.batch_size),
        group_(request.touched_rows ? with_known_popularity(plan.task) : plan.task),
        plan_(*plan.result.plan),
        time_(time) {}

  [[nodiscard]] std::int64_t bytes_after(double iterations) const {
    const StoragePrice stored = averaged(request_, batch_, iterations);
    return std::ranges::max(stored_bytes(stored, group_, plan_));
  }
  [[nodiscard]] double ms(std::int64_t bytes) const { return time_.ms(gib_from_bytes(bytes)); }

  /// The fewest after which averaging takes at most `most_ms` of each. It grows more slowly than
  /// the iterations, since these look up some rows again and again.
  [[nodiscard]] double fewest_iterations(double most_ms) const {
    const double all = request_.touched_rows ? kMostIterations : 1.0;
    double enough = std::clamp(std::ceil(ms(bytes_after(all)) / most_ms), 1.0, kMostIterations);
    if (!request_.touched_rows) return enough;
    double too_few = 0.0;
    while (enough - too_few > 1.0) {
      const double middle = std::floor(std::midpoint(too_few, enough));
      (ms(bytes_after(middle)) <= middle * most_ms ? enough : too_few) = middle;
    }
    return enough;
  }

 private:
  const GroupsRequest& request_;
  std::int64_t batch_;
  Task group_;
  const Plan& plan_;
  AveragingTime time_;
};

/// An iteration with its part of the averaging, of a group that is planned.
void price(const GroupsRequest& request, const Task& task, const AveragingTime& time,
           GroupsPlan& plan) {
  plan.cost_ms = plan.result.cost.cost_ms;
  if (!plan.result.plan || plan.copies == 1) return;
  const Averaging averaging(request, task, plan, time);
  const double most_ms = request.share * std::max(plan.result.cost.cost_ms, 0.0);
  plan.iterations =
      request.iterations > 0.0 ? request.iterations : averaging.fewest_iterations(most_ms);
  plan.averaged_bytes = averaging.bytes_after(plan.iterations);
  plan.averaging_ms = averaging.ms(plan.averaged_bytes);
  plan.cost_ms += plan.averaging_ms / plan.iterations;
}

/// Tells whether larger groups of the same layout need not be tried: the last two sizes are so much
/// dearer than the cheapest, even if nothing were averaged. The exchange within groups grows with
/// their devices.
class GrowingCosts {
 public:
  void add(const GroupsPlan& plan) {
    std::vector<double>& costs_ms = costs_ms_[plan.groups.layout];
    if (plan.result.plan) costs_ms.push_back(plan.result.cost.cost_ms);
  }
  [[nodiscard]] bool rule_out(GroupLayout layout, double least_ms) {
    constexpr double kTimes = 1.25;
    const std::vector<double>& costs_ms = costs_ms_[layout];
    const auto is_dear = [&](double ms) { return ms > kTimes * least_ms; };
    return costs_ms.size() > 1 && std::all_of(costs_ms.end() - 2, costs_ms.end(), is_dear);
  }

 private:
  std::map<GroupLayout, std::vector<double>> costs_ms_;
};

}  // namespace

GroupsResult Planner::plan_groups(const Task& task, const GroupsRequest& request) const {
  const Impl& own = in_use(impl_);
  neuroshard::validate(task);
  validate(request);
  const std::optional<NodeNetwork> hardware = own.cpu->hardware_network();
  const std::optional<NodeNetwork> network = hardware ? hardware : known_network(own.models);
  if (!network) {
    throw Error(
        "the cost models do not say which network they are of, so that averaging has no price; use "
        "others");
  }
  const auto all = all_group_layouts();
  const std::span<const GroupLayout> layouts =
      request.layouts.empty() ? all : std::span(request.layouts);
  const bool any_size = request.sizes.empty();
  GroupsResult result;
  const auto leave_out = [&](int size, const std::string& reason) {
    result.left_out.push_back(std::to_string(size) + ": " + reason);
  };
  std::vector<GroupsPlan> wanted;
  for (const int size : any_size ? divisors(task.devices) : request.sizes) {
    const std::size_t before = wanted.size();
    std::string reason;
    for (const GroupLayout layout : layouts) {
      GroupsPlan plan{.groups = {size, layout}};
      if (layouts.size() > 1 && !is_first_of_its_kind(task, plan.groups)) continue;
      try {
        plan.task = task_of_group(task, plan.groups, *network);
        plan.copies = task.devices / size;
        if (any_size) require_plannable(own.models, plan.task);
        wanted.push_back(std::move(plan));
      } catch (const Error& error) {
        if (!any_size) throw;
        if (reason.empty()) reason = error.what();
      }
    }
    if (wanted.size() == before && !reason.empty()) leave_out(size, reason);
  }
  double least_ms = std::numeric_limits<double>::infinity();
  GrowingCosts costs;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    GroupsPlan& plan = wanted[i];
    if (any_size && costs.rule_out(plan.groups.layout, least_ms)) {
      leave_out(plan.groups.size,
                std::string(name_of(plan.groups.layout)) +
                    " groups of fewer devices are already much dearer than the cheapest");
      continue;
    }
    const AveragingTime averaging = averaging_time(task, plan.groups, *network);
    PlanRequest of_group = request.plan;
    if (request.iterations > 0.0) {
      of_group.storage = averaged(request, task.batch_size, request.iterations);
      of_group.storage.ms_per_gib = averaging.ms_per_gib / request.iterations;
    }
    of_group = with_part_of_the_time(std::move(of_group), static_cast<int>(wanted.size() - i));
    plan.result = this->plan(plan.task, of_group);
    price(request, task, averaging, plan);
    costs.add(plan);
    if (plan.cost_ms < least_ms) {
      least_ms = plan.cost_ms;
      result.best = result.plans.size();
    }
    result.plans.push_back(std::move(plan));
  }
  return result;
}

}  // namespace neuroshard
