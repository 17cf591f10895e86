// Many tasks at once: Planner::plan_batch().
#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <optional>
#include <utility>

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
  std::vector<Task> unlinked;
  std::map<std::size_t, std::size_t> unlinked_of;  // Of tasks with links, the same without.
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    try {
      impls[i] = root.for_task(tasks[i]);
      outcomes[i] = PlanResult{};
    } catch (const Error& error) {
      outcomes[i] = error;
      continue;
    }
    if (std::optional<Task> without = impls[i]->without_links(tasks[i])) {
      unlinked_of[i] = unlinked.size();
      unlinked.push_back(*std::move(without));
    }
  }
  std::vector<PlanOutcome> plans;
  if (!unlinked.empty()) plans = plan_batch(unlinked, Impl::request_without_links(request));
  const auto without_links = [&](std::size_t i) {
    const auto at = unlinked_of.find(i);
    return at == unlinked_of.end() ? nullptr : &plans[at->second];
  };
  struct Jobs {
    std::vector<Impl::Job> by_portfolio;
    std::vector<SearchDriver::Job> published;
  };
  std::map<const Impl*, Jobs> jobs;
  std::deque<Task> with_rules;  // Borrowed by jobs.
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!outcomes[i]) continue;
    try {
      const Task& task = tasks[i].groups.empty()
                             ? tasks[i]
                             : with_rules.emplace_back(with_rules_of_groups(tasks[i]));
      const PlanOutcome* const without = without_links(i);
      const Plan* const known = without != nullptr ? Impl::plan_in(*without) : nullptr;
      if (std::optional<PlanResult> none = impls[i]->out_of_reach(tasks[i])) {
        outcomes[i] = *std::move(none);
      } else if (!searches(root.options.algorithm)) {
        outcomes[i] = impls[i]->plan_by_baseline(task);
      } else if (root.options.algorithm == Algorithm::kPublished) {
        jobs[impls[i].get()].published.push_back({task, outcomes[i]});
      } else {
        jobs[impls[i].get()].by_portfolio.push_back({task, outcomes[i], known});
      }
    } catch (const Error& error) {
      outcomes[i] = error;
    }
  }
  for (const auto& [impl, of_impl] : jobs) {
    if (!of_impl.published.empty()) impl->plan_published(of_impl.published, request);
    if (!of_impl.by_portfolio.empty()) impl->plan_by_portfolio(of_impl.by_portfolio, request);
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!outcomes[i]) continue;
    PlanResult result = std::move(outcomes[i]).value();
    if (const PlanOutcome* const without = without_links(i)) {
      Impl::add_work_without_links(*without, result);
    }
    impls[i]->settle_reason(tasks[i], request, result);
    impls[i]->add_warnings(tasks[i], result);
    outcomes[i] = std::move(result);
  }
  return outcomes;
}

}  // namespace neuroshard
