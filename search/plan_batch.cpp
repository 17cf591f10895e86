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

PlanResult Planner::Impl::plan_alone(const Task& task, const PlanRequest& request) const {
  SearchDriver driver(*cpu, options, request);
  return run_search(driver, task);
}

// Each thread keeps a window of searches in flight: one on a CPU, enough to fill launches on a GPU.
void Planner::Impl::plan_in_parallel(std::span<const SearchDriver::Job> jobs,
                                     const PlanRequest& request, const PlannerOptions& with) const {
  const std::size_t window = gpu ? kSearchesInFlight : 1;
  const std::size_t together = gpu ? kSearchesStartedTogether : 1;
  const std::size_t useful = std::max<std::size_t>(1, (jobs.size() + window - 1) / window);
  ThreadTeam team_of_batch(static_cast<int>(std::min(useful, static_cast<std::size_t>(threads))));
  const std::string warning = joined_warnings(no_gpu_warning, team_of_batch.shortage());
  std::atomic<std::size_t> next{0};
  const auto search = [&](const Backend& backend) {
    SearchDriver driver(backend, with, request, warning);
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

void Planner::Impl::plan_part(std::span<const SearchDriver::Job> jobs,
                              const PlanRequest& request) const {
  std::vector<SearchDriver::Job> by_columns;
  std::vector<SearchDriver::Job> without_plan;
  for (const SearchDriver::Job& job : jobs) {
    (tables_to_cut_by_rows(job.task).empty() ? by_columns : without_plan).push_back(job);
  }
  plan_in_parallel(by_columns, request, options);
  if (!any_cuts) return;
  for (const SearchDriver::Job& job : by_columns) {
    if (job.outcome && may_need_row_blocks(*job.outcome)) without_plan.push_back(job);
  }
  if (without_plan.empty()) return;
  ThreadTeam team_of_batch(
      static_cast<int>(std::min(without_plan.size(), static_cast<std::size_t>(threads))));
  team_of_batch.run(without_plan.size(), [&](std::size_t i, std::size_t) {
    const auto& [task, outcome, start] = without_plan[i];
    try {
      const auto plan = [&](const auto&... of_part) { return plan_alone(of_part...); };
      outcome = tables_to_cut_by_rows(task).empty()
                    ? with_row_blocks(task, request, std::move(outcome).value(), plan)
                    : with_required_blocks(task, request, plan);
    } catch (const Error& error) {
      outcome = error;
    }
  });
}

// In rounds, so that what all tasks ask for next can be planned together.
void Planner::Impl::plan_by_cut_search(std::span<const CutJob> jobs,
                                       const PlanRequest& request) const {
  struct Run {
    Run(const Impl& impl, const CutJob& of_task, const PlanRequest& wanted)
        : job(of_task),
          search(*impl.cpu, of_task.task, wanted, impl.cut_search_options(of_task.known)) {}

    CutJob job;
    CutSearch search;
    PlanOutcome of_part{};
  };
  std::deque<Run> runs;  // Borrowed from, and not to be moved.
  for (const CutJob& job : jobs) {
    runs.emplace_back(*this, job, request);
  }
  for (Run& run : runs) {
    if (!run.search.next()) run.job.outcome = run.search.finish();
  }
  ThreadTeam team_of_batch(
      static_cast<int>(std::min(runs.size(), static_cast<std::size_t>(threads))));
  const PlanRequest of_parts = without_improvements(request);
  for (bool first = true;; first = false) {
    std::vector<Run*> asking;
    for (Run& run : runs) {
      if (run.search.next()) asking.push_back(&run);
    }
    if (asking.empty()) break;
    for (const bool whole : {true, false}) {
      std::vector<SearchDriver::Job> parts;
      for (Run* run : asking) {
        const auto& part = run->search.next();
        if (part->whole == whole) parts.push_back({*part->task, run->of_part, part->start});
      }
      if (!parts.empty()) plan_part(parts, first && whole ? request : of_parts);
    }
    team_of_batch.run(asking.size(), [&](std::size_t i, std::size_t) {
      Run& run = *asking[i];
      try {
        run.search.take(std::move(run.of_part).value());
        if (!run.search.next()) run.job.outcome = run.search.finish();
      } catch (const Error& error) {
        run.search.give_up();
        run.job.outcome = error;
      }
    });
  }
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
    std::vector<Impl::CutJob> for_cut_search;
    std::vector<SearchDriver::Job> for_columns;
    std::vector<SearchDriver::Job> planned;  // All of them.
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
      } else if (impls[i]->needs_cut_search(task) || known != nullptr) {
        jobs[impls[i].get()].for_cut_search.push_back({task, outcomes[i], known});
        jobs[impls[i].get()].planned.push_back({task, outcomes[i]});
      } else {
        jobs[impls[i].get()].for_columns.push_back({task, outcomes[i]});
        jobs[impls[i].get()].planned.push_back({task, outcomes[i]});
      }
    } catch (const Error& error) {
      outcomes[i] = error;
    }
  }
  for (const auto& [impl, of_impl] : jobs) {
    const auto& [for_cut_search, for_columns, planned] = of_impl;
    if (!for_cut_search.empty()) impl->plan_by_cut_search(for_cut_search, request);
    if (!for_columns.empty()) impl->plan_part(for_columns, request);
    if (Impl::improves(impl->options)) impl->improve_all(planned, request);
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
