#include <span>
#include <utility>
#include <vector>

#include "neuroshard/c_api.h"
#include "search/c_api/handles.h"
#include "search/c_api/sized_struct.h"
#include "search/c_api/status.h"

namespace neuroshard::c_api {
namespace {

// Sizes in version 3 of the interface, which was the first to have them.
constexpr std::size_t kFirstReplanOptions = 64;
constexpr std::size_t kFirstMoveSummary = 32;

RunningPlan running_plan(const ns_plan& running, const ns_replan_options& given) {
  const PlanDocument* document = document_of(running);
  if (document == nullptr) {
    throw Error("running is the answer that a task has no plan; give the plan that runs");
  }
  RunningPlan result{document->task, document->plan, {}};
  if (given.lost_device_count > 0) {
    const std::size_t count =
        required_count(given.lost_device_count, static_cast<std::size_t>(document->task.devices),
                       "lost_device_count");
    const int32_t* lost = &required(given.lost_devices, "lost_devices");
    result.lost_devices.assign(lost, lost + count);
  }
  if (given.regrouped != nullptr) result.regrouped = group_layout_from_name(given.regrouped);
  return result;
}

/// None of a plan that no re-planning made.
PlanMoves moves_of(const ns_plan* plan) {
  const PlanDocument* document = document_of(required(plan, "plan"));
  return document != nullptr && document->moves ? *document->moves : PlanMoves{};
}

ReplanRequest replan_request(const ns_replan_options& given) {
  ReplanRequest request{.plan = timed_request(given.deadline_ms, given.stop),
                        .ms_per_moved_gib = given.ms_per_moved_gib};
  if (given.most_moved_bytes != nullptr) request.most_moved_bytes = *given.most_moved_bytes;
  if (given.unspent_bytes != nullptr) request.unspent_bytes = *given.unspent_bytes;
  if (given.small_moves_share != nullptr) request.small_moves_share = *given.small_moves_share;
  if (given.small_moves_bytes != nullptr) request.small_moves_bytes = *given.small_moves_bytes;
  return request;
}

}  // namespace
}  // namespace neuroshard::c_api

using namespace neuroshard;
using namespace neuroshard::c_api;

ns_status ns_planner_replan(const ns_planner* planner, const ns_plan* running, const ns_task* task,
                            const ns_replan_options* options, ns_plan** plan) {
  return guarded([&] {
    clear_handle(plan, "plan");
    const ns_replan_options given = options_from(options, kFirstReplanOptions, "ns_replan_options");
    const ReplanRequest request = replan_request(given);
    const ns_planner& with = required(planner, "planner");
    const ns_task& what = required(task, "task");
    ReplanResult replanned = with.planner.replan(
        complete_task(what), running_plan(required(running, "running"), given), request);
    auto made = plan_handle(with, what, std::move(replanned.result));
    if (auto* document = std::get_if<PlanDocument>(&made->document)) {
      document->moves = plan_moves(replanned);
    }
    *plan = made.release();
    return status_of(**plan);
  });
}

ns_status ns_plan_get_moves(const ns_plan* plan, ns_move* moves, size_t capacity, size_t* count) {
  return guarded([&] {
    std::vector<ns_move> all;
    for (const TableMove& move : moves_of(plan).moves) {
      all.push_back({.table = move.columns.table,
                     .first_column = move.columns.first_column,
                     .dim = move.columns.dim,
                     .from = move.from,
                     .to = move.to,
                     .reserved = 0,
                     .bytes = move.bytes});
    }
    return write_array(std::span<const ns_move>(all), moves, capacity, "moves", count);
  });
}

ns_status ns_plan_get_move_rows(const ns_plan* plan, ns_rows* rows, size_t capacity,
                                size_t* count) {
  return guarded([&] {
    std::vector<ns_rows> all;
    for (const TableMove& move : moves_of(plan).moves) {
      all.push_back({.first_row = move.first_row, .rows = move.rows});
    }
    return write_array(std::span<const ns_rows>(all), rows, capacity, "rows", count);
  });
}

ns_status ns_plan_get_move_summary(const ns_plan* plan, ns_move_summary* summary) {
  return guarded([&] {
    ns_move_summary result{};
    const PlanMoves moves = moves_of(plan);
    result.moved_bytes = moves.moved_bytes;
    result.must_move_bytes = moves.must_move_bytes;
    result.running_cost_ms = moves.running_cost_ms;
    result.unspent_bytes = moves.unspent_bytes;
    write_to(summary, result, kFirstMoveSummary, "ns_move_summary");
    return NS_OK;
  });
}
