// Plans that were made quickly are starts for a Portfolio, of one task or of many.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/thread_team.h"
#include "search/engine/portfolio.h"
#include "search/parts/best_plans.h"
#include "search/planner_impl.h"

namespace neuroshard {

PlanResult Planner::Impl::improved(const Task& task, const PlanRequest& request, PlanResult start,
                                   const PlanResult* published, Effort effort,
                                   const WayOptions& in_ways, ThreadTeam::Lease* lease) const {
  const StopCondition stop(request.deadline, request.stop);
  if (!start.plan || task.devices < 2 || stop.reached()) return start;
  BestPlans found(*cpu, task, request, SearchStage::kImprovement, start.stats.search_ms);
  SearchStats stats = start.stats;
  const bool complete = start.complete;
  found.start_from(std::move(start));
  if (published != nullptr) {
    add_work(stats, published->stats);
    stats.backend = published->stats.backend;
    if (published->plan) (void)found.consider(*published->plan);
  }
  const Portfolio portfolio{.backend = *cpu,
                            .task = task,
                            .ways = in_ways,
                            .effort = effort,
                            .stop = stop,
                            .team = lease};
  const Plan best = *found.best().plan;
  portfolio.improve(
      best, [&](Plan plan) { (void)found.consider(std::move(plan)); }, stats);
  stats.search_ms = found.elapsed_ms();
  PlanResult result = found.take();
  result.stats = std::move(stats);
  result.complete = complete && !stop.reached();
  return result;
}

PlanResult Planner::Impl::improved(const Task& task, const PlanRequest& request, PlanResult start,
                                   Effort effort, const WayOptions& in_ways,
                                   PlanLaunches& launches) const {
  if (!start.plan || StopCondition(request.deadline, request.stop).reached()) return start;
  std::optional<PlanResult> published;
  if (starts_from_published(task)) {
    published = plan_by_search(task, without_improvements(request), published_options, launches);
  }
  std::optional<ThreadTeam::Lease> lease;
  if (threads > 1) lease = team().try_lease();
  return improved(task, request, std::move(start), published ? &*published : nullptr, effort,
                  in_ways, lease ? &*lease : nullptr);
}

void Planner::Impl::improve_all(std::span<const SearchDriver::Job> planned,
                                const PlanRequest& request) const {
  std::vector<SearchDriver::Job> with_plan;
  for (const SearchDriver::Job& job : planned) {
    if (job.outcome && job.outcome->plan) with_plan.push_back(job);
  }
  if (with_plan.empty()) return;
  std::vector<PlanOutcome> published(with_plan.size());
  std::vector<SearchDriver::Job> jobs;
  for (std::size_t i = 0; i < with_plan.size(); ++i) {
    const Task& task = with_plan[i].task;
    if (starts_from_published(task)) jobs.push_back({task, published[i]});
  }
  plan_in_parallel(jobs, without_improvements(request), published_options);
  ThreadTeam team_of_batch(
      static_cast<int>(std::min(with_plan.size(), static_cast<std::size_t>(threads))));
  team_of_batch.run(with_plan.size(), [&](std::size_t i, std::size_t) {
    PlanOutcome& outcome = with_plan[i].outcome;
    try {
      outcome = improved(with_plan[i].task, request, std::move(outcome).value(),
                         published[i] ? &*published[i] : nullptr, options.effort, ways(), nullptr);
    } catch (const Error& error) {
      outcome = error;
    }
  });
}

}  // namespace neuroshard
