#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "neuroshard/c_api.h"
#include "neuroshard/device_groups.h"
#include "search/c_api/handles.h"
#include "search/c_api/sized_struct.h"
#include "search/c_api/status.h"

struct ns_groups {
  std::vector<ns_group_cost> costs;
  std::vector<ns_task> tasks;  ///< Like `plans`, one for each of `costs`.
  std::vector<ns_plan> plans;
  std::optional<std::size_t> best;
  std::vector<std::string> left_out;
};

namespace neuroshard::c_api {
namespace {

// Size in version 15 of the interface, which was the first to have it.
constexpr std::size_t kFirstGroupsOptions = 80;

GroupsRequest groups_request(const ns_groups_options& given) {
  GroupsRequest request{.iterations = given.iterations,
                        .optimizer_state = given.weights_only == 0,
                        .touched_rows = given.touched_rows != 0,
                        .plan = timed_request(given.deadline_ms, given.stop)};
  if (given.size_count > 0) {
    const std::size_t count = required_count(given.size_count, kMaxDevices, "size_count");
    const int32_t* sizes = &required(given.sizes, "sizes");
    request.sizes.assign(sizes, sizes + count);
  }
  if (given.layout != nullptr) request.layouts = {group_layout_from_name(given.layout)};
  if (given.share != 0.0) request.share = given.share;
  return request;
}

ns_group_cost cost_of(const GroupsPlan& plan) {
  return {.size = plan.groups.size,
          .copies = plan.copies,
          .layout = name_of(plan.groups.layout).data(),  // A literal, so it ends with a zero.
          .cost_ms = plan.cost_ms,
          .iteration_ms = plan.result.cost.cost_ms,
          .averaging_ms = plan.averaging_ms,
          .iterations = plan.iterations,
          .averaged_bytes = plan.averaged_bytes};
}

std::unique_ptr<ns_groups> groups_handle(const ns_planner& planner, const ns_task& task,
                                         GroupsResult result) {
  auto handle = std::make_unique<ns_groups>();
  handle->best = result.best;
  handle->left_out = std::move(result.left_out);
  for (GroupsPlan& plan : result.plans) {
    handle->costs.push_back(cost_of(plan));
    const std::string of_size = "a group of " + std::to_string(plan.groups.size);
    handle->tasks.push_back({.task = std::move(plan.task),
                             .name = task.name.empty() ? of_size : task.name + ", " + of_size,
                             .notes = task.notes});
    handle->plans.push_back(
        std::move(*plan_handle(planner, handle->tasks.back(), std::move(plan.result))));
  }
  return handle;
}

ns_status status_of_groups(const ns_groups& groups) {
  return groups.best ? NS_OK : failed(NS_INFEASIBLE, "no size of groups has a plan");
}

std::size_t required_index(const ns_groups& groups, std::size_t index) {
  if (index < groups.costs.size()) return index;
  throw Error("index is " + std::to_string(index) + ", but there are " +
              std::to_string(groups.costs.size()) + " ways to group the devices; count from 0");
}

}  // namespace
}  // namespace neuroshard::c_api

using namespace neuroshard;
using namespace neuroshard::c_api;

ns_status ns_planner_plan_groups(const ns_planner* planner, const ns_task* task,
                                 const ns_groups_options* options, ns_groups** groups) {
  return guarded([&] {
    clear_handle(groups, "groups");
    const GroupsRequest request =
        groups_request(options_from(options, kFirstGroupsOptions, "ns_groups_options"));
    const ns_planner& with = required(planner, "planner");
    const ns_task& what = required(task, "task");
    *groups =
        groups_handle(with, what, with.planner.plan_groups(complete_task(what), request)).release();
    return status_of_groups(**groups);
  });
}

ns_status ns_groups_get_costs(const ns_groups* groups, ns_group_cost* costs, size_t capacity,
                              size_t* count) {
  return guarded([&] {
    return write_array(std::span<const ns_group_cost>(required(groups, "groups").costs), costs,
                       capacity, "costs", count);
  });
}

ns_status ns_groups_get_best(const ns_groups* groups, size_t* index) {
  return guarded([&] {
    std::size_t& best = required(index, "index");
    const ns_groups& of = required(groups, "groups");
    if (of.best) best = *of.best;
    return status_of_groups(of);
  });
}

ns_status ns_groups_get_left_out(const ns_groups* groups, const char** reasons, size_t capacity,
                                 size_t* count) {
  return guarded([&] {
    std::vector<const char*> texts;
    for (const std::string& text : required(groups, "groups").left_out) {
      texts.push_back(text.c_str());
    }
    return write_array(std::span<const char* const>(texts), reasons, capacity, "reasons", count);
  });
}

ns_status ns_groups_get_task(const ns_groups* groups, size_t index, ns_task** task) {
  return guarded([&] {
    clear_handle(task, "task");
    const ns_groups& of = required(groups, "groups");
    *task = new ns_task(of.tasks[required_index(of, index)]);
    return NS_OK;
  });
}

ns_status ns_groups_get_plan(const ns_groups* groups, size_t index, ns_plan** plan) {
  return guarded([&] {
    clear_handle(plan, "plan");
    const ns_groups& of = required(groups, "groups");
    *plan = new ns_plan(of.plans[required_index(of, index)]);
    return status_of(**plan);
  });
}

void ns_groups_free(ns_groups* groups) { delete groups; }
