#include "bench/plans/plan_latency.h"

#include <map>
#include <optional>

#include "core/base/thread_team.h"
#include "neuroshard/error.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kPublished = "published";
constexpr const char* kAsPublished = "as_published";

Planner planner_for(const CostModels& models, const PlanConfig& config,
                    const SearchOptions& search) {
  PlannerOptions options{.search = search,
                         .backend = config.backend,
                         .threads = config.threads,
                         .reuse_work = config.reuse_work};
  if (config.search == kPublished || config.search == kAsPublished) {
    options.algorithm = Algorithm::kPublished;
    options.search.memory_splits = config.search == kPublished;
  } else {
    options.effort = effort_from_name(config.search);
  }
  return Planner(models, options);
}

void require_same(const PlanResult& a, const PlanResult& b, const std::string& what) {
  if (a.plan == b.plan && a.cost.cost_ms == b.cost.cost_ms) return;
  throw Error(what + " (costs " + std::to_string(b.cost.cost_ms) + " and " +
                  std::to_string(a.cost.cost_ms) + " ms); nothing was timed",
              ErrorKind::kBackend);
}

void require_not_worse(const PlanResult& result, const std::optional<PublishedRun>& published,
                       const std::string& where) {
  if (!published || !published->cost_ms) return;
  if (result.plan && result.cost.cost_ms <= *published->cost_ms * (1.0 + 1e-5)) return;
  throw Error(where + ": the plan is worse than the published one; nothing was timed",
              ErrorKind::kBackend);
}

// Less effort than the published search's makes no promise of cost.
void require_a_plan(const PlanResult& result, const std::optional<PublishedRun>& published,
                    const std::string& where) {
  if (!published || !published->cost_ms || result.plan) return;
  throw Error(where + ": there is no plan where the published search has one; nothing was timed",
              ErrorKind::kBackend);
}

// A plan where the published search has one, none where it has none. Costs may differ: where most
// candidates fit nowhere, the last bit of a cost decides which of them live on.
void require_as_published(const PlanResult& result, const std::optional<PublishedRun>& published,
                          const std::string& where) {
  if (!published || result.plan.has_value() == published->cost_ms.has_value()) return;
  throw Error(where + ": only one of the published search and ours has a plan; nothing was timed",
              ErrorKind::kBackend);
}

// Result that all configs of a kind must give; empty before the first of them.
struct Reference {
  std::string name;
  std::optional<PlanResult> result;
};

// Latency under load: every caller plans one task after the other, until all are done.
PlanRound concurrent_round(const Planner& planner, int callers, std::span<const Task> tasks) {
  PlanRound round{.wall_ms = std::vector<double>(tasks.size()),
                  .cpu_ms = {},
                  .total = {},
                  .plans = tasks.size()};
  ThreadTeam team(callers);
  if (team.threads() != static_cast<std::size_t>(callers)) {
    throw Error(team.shortage() + "; nothing was timed", ErrorKind::kBackend);
  }
  const Stopwatch watch;
  team.run(tasks.size(), [&](std::size_t i, std::size_t) {
    const Stopwatch one;
    (void)planner.plan(tasks[i]);
    round.wall_ms[i] = one.elapsed().wall_ms;
  });
  round.total = watch.elapsed();
  return round;
}

// As many tasks as the batch asks for, the set over and over.
PlanRound batch_round(const Planner& planner, std::size_t batch, std::span<const Task> tasks) {
  std::vector<Task> repeated;
  for (std::size_t i = 0; i < batch; ++i) repeated.push_back(tasks[i % tasks.size()]);
  const Stopwatch watch;
  const std::vector<PlanOutcome> outcomes = planner.plan_batch(repeated);
  const auto total = watch.elapsed();
  for (const PlanOutcome& outcome : outcomes) (void)outcome.value();  // Or throws.
  return {.wall_ms = {}, .cpu_ms = {}, .total = total, .plans = batch};
}

}  // namespace

std::vector<std::string> all_searches() {
  std::vector<std::string> names = {std::string(name_of(Effort::kDefault))};
  for (const Effort effort : all_efforts()) {
    if (effort != Effort::kDefault) names.emplace_back(name_of(effort));
  }
  names.emplace_back(kPublished);
  names.emplace_back(kAsPublished);
  return names;
}

std::string PlanConfig::name() const {
  std::string text =
      backend + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  if (search == kAsPublished) {
    text += ", as published";
  } else if (search != name_of(Effort::kDefault)) {
    text += ", " + search;
  }
  if (!reuse_work) text += ", no reuse";
  if (concurrency > 1) text += ", " + std::to_string(concurrency) + " callers";
  if (batch > 0) text += ", batches of " + std::to_string(batch);
  return text;
}

std::string PlanConfig::path() const {
  std::string text = "backend:" + backend + "/threads:" + std::to_string(threads);
  if (search != name_of(Effort::kDefault)) text += "/search:" + search;
  if (!reuse_work) text += "/reuse:0";
  if (concurrency > 1) text += "/callers:" + std::to_string(concurrency);
  if (batch > 0) text += "/batch:" + std::to_string(batch);
  return text;
}

PlanRound plan_round(const Planner& planner, const PlanConfig& config,
                     std::span<const Task> tasks) {
  if (config.batch > 0) return batch_round(planner, config.batch, tasks);
  if (config.concurrency > 1) return concurrent_round(planner, config.concurrency, tasks);
  PlanRound round;
  round.plans = tasks.size();
  const Stopwatch watch;
  for (const Task& task : tasks) {
    const Stopwatch one;
    (void)planner.plan(task);
    const Elapsed elapsed = one.elapsed();
    round.wall_ms.push_back(elapsed.wall_ms);
    round.cpu_ms.push_back(elapsed.cpu_ms);
  }
  round.total = watch.elapsed();
  return round;
}

std::vector<PlanTimes> measure_plans(const CostModels& models, std::span<const PlanConfig> configs,
                                     const TaskSet& set, const PlanMeasurement& options) {
  std::vector<Planner> planners;
  std::vector<PlanTimes> times;
  for (const PlanConfig& config : configs) {
    planners.push_back(planner_for(models, config, options.search));
    times.push_back({.config = config, .rounds = {}});
  }
  // By the search of the first config.
  PlanConfig scalar_config{.backend = "scalar", .reuse_work = false};
  if (!configs.empty()) scalar_config.search = configs.front().search;
  const Planner scalar = planner_for(models, scalar_config, options.search);
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const std::string where = set.name + " task " + std::to_string(i);
    std::map<std::string, Reference> references;
    const auto check = [&](const PlanConfig& config, const PlanResult& result) {
      Reference& reference = references[config.search];
      if (reference.result) {
        require_same(
            *reference.result, result,
            where + ": '" + config.name() + "' gives another plan than '" + reference.name + "'");
        return;
      }
      const auto require_as_good = config.search == kAsPublished             ? require_as_published
                                   : config.search == name_of(Effort::kFast) ? require_a_plan
                                                                             : require_not_worse;
      require_as_good(result, set.published[i], where);
      reference = {config.name(), result};
    };
    if (i < static_cast<std::size_t>(options.checked_by_scalar)) {
      check(scalar_config, scalar.plan(set.tasks[i]));
    }
    for (std::size_t c = 0; c < planners.size(); ++c) {
      const PlanResult result = planners[c].plan(set.tasks[i]);
      times[c].planned += result.plan ? 1 : 0;
      check(configs[c], result);
    }
  }
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < planners.size(); ++i) {
      // Each round starts with another config: none always follows the same one.
      const std::size_t c = (i + static_cast<std::size_t>(round)) % planners.size();
      times[c].rounds.push_back(plan_round(planners[c], configs[c], set.tasks));
    }
  }
  return times;
}

}  // namespace neuroshard::bench
