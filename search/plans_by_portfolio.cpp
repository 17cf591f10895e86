// Algorithm::kNeuroshard: simple plans, a start by chains, and with more effort the published
// search and longer chains.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/thread_team.h"
#include "core/tables/host_shares.h"
#include "search/baselines.h"
#include "search/engine/best_plans.h"
#include "search/engine/ladder_start.h"
#include "search/engine/portfolio.h"
#include "search/infeasibility/infeasibility.h"
#include "search/planner_impl.h"
#include "search/starts/room_search.h"

namespace neuroshard {
namespace {

/// The task on devices that are all as slow and small as the least of them; nothing if they differ
/// in nothing, or one has no room.
std::optional<Task> on_least_devices(const Task& task) {
  if (has_equal_devices(task)) return std::nullopt;
  Task least = task;
  least.reserved = {};
  least.memory_bytes = hbm_room_bytes(task, 0);
  for (std::size_t d = 0; std::cmp_less(d, task.devices); ++d) {
    const HostMemory host = stated_host(task, d);
    least.memory_bytes = std::min(least.memory_bytes, hbm_room_bytes(task, d));
    least.host.bytes = std::min(least.host.bytes, host.bytes);
    least.host.link_gb_s = std::min(least.host.link_gb_s, host.link_gb_s);
    least.host.ssd_bytes = std::min(least.host.ssd_bytes, host.ssd_bytes);
    least.host.ssd_gb_s = std::min(least.host.ssd_gb_s, host.ssd_gb_s);
  }
  if (least.memory_bytes <= 0) return std::nullopt;
  const double speed = std::ranges::min(task.device_list, {}, &Device::speed).speed;
  least.device_list.assign(task.device_list.size(),
                           {.memory_bytes = least.memory_bytes, .speed = speed});
  return least;
}

}  // namespace

PlanResult Planner::Impl::plan_by_portfolio(const Task& task, const PlanRequest& request,
                                            const Starts& starts, Effort effort,
                                            ThreadTeam::Lease* lease) const {
  const StopCondition stop(request.deadline, request.stop);
  BestPlans found(*cpu, task, request);
  const auto consider = [&](std::optional<Plan> plan) {
    if (plan) found.consider(*std::move(plan));
  };
  WayOptions ways = this->ways;
  ways.storage = request.storage;
  bool impossible = false;
  SearchStats stats;
  stats.backend = cpu->name();
  const auto lacks_memory = [room = total_room_bytes(task)](const Task& of) {
    return total_bytes(of) > room;
  };
  if (lacks_memory(task) && lacks_memory(with_least_buffers(task))) {
    PlanResult result;
    result.infeasible = no_plan_found(task, false, stop);
    result.stats = std::move(stats);
    return result;
  }
  const auto in_columns = [&](const Table& table) { return may_be_in_columns(task, table); };
  if (std::ranges::all_of(task.tables, in_columns)) {
    consider(cheapest_uniform_plan(*cpu, task, stop));
    found.begin(SearchStage::kGreedy);
    for (const Algorithm baseline : kGreedyBaselines) {
      if (!stop.reached()) consider(place_by_baseline(task, baseline, 0, stop));
    }
  }
  for (const Plan* const plan : starts.plainer) found.consider_plainer(*plan);
  const Portfolio portfolio{.backend = *cpu,
                            .task = task,
                            .ways = ways,
                            .effort = effort,
                            .stop = stop,
                            .alternatives = request.alternatives > 0,
                            .team = lease};
  found.begin(SearchStage::kLadder);
  const std::optional<Task> least = on_least_devices(task);
  LadderStart start(portfolio);
  start.begin(consider);
  // A start that looks at what devices have apart may miss how even ones are best used.
  std::optional<Portfolio> of_least;
  std::optional<LadderStart> start_of_least;
  if (least) {
    of_least.emplace(Portfolio{.backend = *cpu, .task = *least, .ways = ways, .stop = stop});
    start_of_least.emplace(*of_least);
    start_of_least->begin(consider);
  }
  bool sees_memory_first = portfolio.is_tight();
  if (found.empty() && !stop.reached()) {
    sees_memory_first = true;
    found.begin(SearchStage::kRoom);
    RoomFound room = find_room(*cpu, task, ways, stop);
    impossible = room.impossible;
    consider(std::move(room.plan));
  }
  if (!found.empty() && sees_memory_first) {
    Portfolio of_fast = portfolio;
    of_fast.effort = Effort::kFast;
    const Plan cheapest = *found.best().plan;
    of_fast.improve({&cheapest, 1}, consider, stats);
  }
  if (effort != Effort::kFast && !found.empty()) {
    found.begin(SearchStage::kLadder);
    start.go_on(consider);
    if (start_of_least) start_of_least->go_on(consider);
    if (starts.published) {
      found.begin(SearchStage::kPublished);
      PlanResult published = starts.published();
      add_work(stats, published.stats);
      stats.backend = published.stats.backend;
      consider(std::move(published.plan));
    }
    found.begin(SearchStage::kImprovement);
    std::vector<Plan> best = {*found.best().plan};
    if (std::optional<Plan> second = start.second()) best.push_back(*std::move(second));
    portfolio.improve(best, consider, stats);
  }
  start.add_work_to(stats);
  if (start_of_least) start_of_least->add_work_to(stats);
  PlanResult result = found.take(std::move(stats), !stop.reached());
  if (result.plan) return result;
  if (!stop.reached()) {
    result.infeasible = no_plan_found(task, impossible, stop);
    return result;
  }
  // That needs no time.
  result.infeasible = proof_by_memory(task);
  const bool proven = result.infeasible &&
                      (!ways.rows || result.infeasible->kind == Infeasibility::Kind::kTotalMemory);
  if (!proven) result.infeasible = nothing_in_time(task);
  return result;
}

}  // namespace neuroshard
