// Many tasks at once: Planner::plan_batch().
#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "core/plans/deduplicated_task.h"
#include "core/tables/table_groups.h"
#include "search/planner_impl.h"

namespace neuroshard {
namespace {

// Searches that one thread keeps in common launches on a GPU, and how many of them it lets end
// before it starts as many together.
constexpr std::size_t kSearchesInFlight = 64;
constexpr std::size_t kSearchesStartedTogether = 16;

}  // namespace

// Each thread keeps a window of searches in flight: one on a CPU, enough to fill launches on a GPU.
void Planner::Impl::plan_published(std::span<const SearchDriver::Job> jobs,
                                   const PlanRequest& request) const {
  const std::size_t window = gpu ? kSearchesInFlight : 1;
  const std::size_t together = gpu ? kSearchesStartedTogether : 1;
  const std::size_t useful = std::max<std::size_t>(1, (jobs.size() + window - 1) / window);
  ThreadTeam team_of_batch(static_cast<int>(std::min(useful, static_cast<std::size_t>(threads))));
  const std::string warning = joined_warnings(no_gpu_warning, team_of_batch.shortage());
  std::atomic<std::size_t> next{0};
  const auto search = [&](const Backend& backend) {
    SearchDriver driver(backend, options, request, warning);
    try {
      for (;;) {
        while (driver.in_flight() + together <= window) {
          const std::size_t first = next.fetch_add(together);
          if (first >= jobs.size()) break;
          driver.add(jobs.subspan(first, std::min(together, jobs.size() - first)));
        }
        if (driver.in_flight() == 0) return;
        driver.advance();
      }
    } catch (...) {
      next = jobs.size();  // The others need not go on.
      throw;
    }
  };
  team_of_batch.run(team_of_batch.threads(), [&](std::size_t, std::size_t) {
    gpu ? search(gpu_beside(*cpu)) : search(*cpu);
  });
}

std::vector<PlanOutcome> Planner::plan_batch(std::span<const Task> tasks,
                                             const PlanRequest& given) const {
  const Impl& root = in_use(impl_);
  validate(given);
  const PlanRequest request = root.request_of_algorithm(given);
  std::vector<PlanOutcome> outcomes(tasks.size());
  std::vector<std::shared_ptr<const Impl>> impls(tasks.size());
  std::vector<PlanOutcome> published(tasks.size());
  std::map<const Impl*, std::vector<SearchDriver::Job>> searches;
  // Borrowed by searches.
  std::deque<DeduplicatedTask> deduplicated;
  std::deque<Task> with_rules;
  std::deque<BundledTask> starts;
  std::vector<const Task*> planned(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    try {
      impls[i] = root.for_task(tasks[i]);
    } catch (const Error& error) {
      outcomes[i] = error;
      continue;
    }
    planned[i] = &deduplicated.emplace_back(tasks[i]).task();
    const Task& task = planned[i]->groups.empty()
                           ? *planned[i]
                           : with_rules.emplace_back(with_rules_of_groups(*planned[i]));
    if (!impls[i]->searches_published(task, root.options.effort)) continue;
    std::optional<BundledTask> start = impls[i]->task_of_start(task);
    searches[impls[i].get()].push_back(
        {start ? starts.emplace_back(*std::move(start)).task : task, published[i]});
  }
  for (const auto& [impl, jobs] : searches) impl->plan_published(jobs, request);
  ThreadTeam team(static_cast<int>(
      std::clamp<std::size_t>(tasks.size(), 1, static_cast<std::size_t>(root.threads))));
  team.run(tasks.size(), [&](std::size_t i, std::size_t) {
    if (!impls[i]) return;
    try {
      PlanResult result = impls[i]->plan_anew(*planned[i], request, root.options.effort, true,
                                              [&] { return std::move(published[i]).value(); });
      impls[i]->settle_reason(*planned[i], request, result);
      impls[i]->add_hot_rows(tasks[i], request, true, result);
      impls[i]->add_warnings(tasks[i], result);
      outcomes[i] = std::move(result);
    } catch (const Error& error) {
      outcomes[i] = error;
    }
  });
  return outcomes;
}

}  // namespace neuroshard
