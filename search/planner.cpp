#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "core/placement/team_backend.h"
#include "core/plans/deduplicated_task.h"
#include "core/tables/row_popularity.h"
#include "core/tables/table_groups.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/error.h"
#include "neuroshard/fingerprint.h"
#include "neuroshard/simulator.h"
#include "neuroshard/task_models.h"
#include "search/baselines.h"
#include "search/engine/best_plans.h"
#include "search/hot_rows/hot_rows_change.h"
#include "search/infeasibility/infeasibility.h"
#include "search/learned_placement.h"
#include "search/planner_impl.h"
#include "search/planner_options.h"
#include "search/starts/room_search.h"

namespace neuroshard {
namespace {

bool has_link_levels(const Task& task) { return task.links && !task.links->levels.empty(); }

using Clock = std::chrono::steady_clock;

// A level of the search has some fifty candidates; more threads than this find too little to do.
constexpr int kMaxThreadsOfOnePlan = 16;

// A single plan has so many of a GPU.
constexpr int kMostLaunches = 2;

// Kept at hand beside the planner's own.
constexpr std::size_t kMostOtherSettings = 8;

/// `complete`, `stats`: of the search of a start.
void add_work_of_start(bool complete, const SearchStats& stats, PlanResult& result) {
  result.complete = result.complete && complete;
  result.stats.search_ms += stats.search_ms;
  add_work(result.stats, stats);
}

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// "auto" takes a GPU if one works, and says in `warning` why one that is there does not; a forced
// "cuda" throws.
std::unique_ptr<Backend> gpu_backend(const CostModels& models, const std::string& name,
                                     std::string& warning) {
  if (models.nodes) {  // As with devices that differ.
    if (name == kCudaBackend)
      warning = "tasks that state links, or are of nodes that share them, are planned on the CPU";
    return nullptr;
  }
  if (name == kCudaBackend) return make_cuda_backend(models);
  if (name != "auto" || !cuda_backend_built() || cuda_devices().empty()) return nullptr;
  try {
    return make_cuda_backend(models);
  } catch (const Error& error) {
    warning = std::string("the GPU cannot be used (") + error.what() + "); planned on the CPU";
    return nullptr;
  }
}

// Where columns are the only way, they are halved.
WayOptions ways_for(const PlannerOptions& options, const CostModels& models, const Backend& cpu) {
  const bool any_cuts = options.algorithm == Algorithm::kNeuroshard &&
                        options.cuts.value_or(default_cuts(models)) != Cuts::kColumns;
  // TorchRec, which wants equal widths, and sources that price kinds know only whole nodes.
  const bool parts = !options.equal_widths && cpu.kind_price(ShardingKind::kTableRow) == nullptr;
  return {.rows = any_cuts,
          .parts = parts,
          .replicas = any_cuts && cpu.prices_replicas(),
          .equal_widths = options.equal_widths,
          .halves = !any_cuts};
}

}  // namespace

Planner::Impl::Impl(CostModels cost_models, PlannerOptions planner_options, const Impl* made_by)
    : own(made_by != nullptr ? *made_by : *this),
      options(std::move(planner_options)),
      cpu(make_cpu_backend(cost_models,
                           {.name = options.backend == kCudaBackend ? "auto" : options.backend,
                            .reuse_work = options.reuse_work})),
      gpu(gpu_backend(cost_models, options.backend, no_gpu_warning)),
      ranges(cost_models),
      ways(ways_for(options, cost_models, *cpu)),
      models(std::move(cost_models)),
      threads(thread_count(options.threads)) {
  if (options.policy) policy.emplace(select_cpu_kernels(cpu->name()), *options.policy);
}

std::shared_ptr<const Planner::Impl> Planner::Impl::for_setting_of(const Task& task) const {
  const CommSetting setting = comm_setting(task, cpu->hardware_network());
  if (setting == models.setting) return {std::shared_ptr<const Impl>(), this};
  const std::lock_guard lock(other_settings_lock);
  std::shared_ptr<const Impl>& other = other_settings[setting];
  if (!other) {
    try {
      other = std::make_shared<const Impl>(models_for(models, setting), options, this);
    } catch (...) {
      other_settings.erase(setting);
      throw;
    }
  }
  std::shared_ptr<const Impl> found = other;
  if (other_settings.size() > kMostOtherSettings) {
    other_settings.erase(std::find_if(other_settings.begin(), other_settings.end(),
                                      [&](const auto& one) { return one.first != setting; }));
  }
  return found;
}

std::shared_ptr<const Planner::Impl> Planner::Impl::for_task(const Task& task) const {
  neuroshard::validate(task);
  std::shared_ptr<const Impl> impl = for_setting_of(task);
  (void)models.comm_for(task.devices);
  return impl;
}

ThreadTeam& Planner::Impl::team() const {
  std::call_once(team_started,
                 [&] { team_of_plans.emplace(std::min(threads, kMaxThreadsOfOnePlan)); });
  return *team_of_plans;
}

ShardingMeans Planner::Impl::means_of(const Task& task) const {
  const int nodes = task.devices % task.devices_per_node == 0 ? task.devices / task.devices_per_node
                                                              : task.devices;
  return {.algorithm = options.algorithm,
          .row_blocks = ways.rows,
          .parts = ways.parts,
          .replicas = ways.replicas,
          .nodes = models.has_comm_for(nodes)};
}

std::optional<PlanResult> Planner::Impl::out_of_reach(const Task& task) const {
  std::optional<Infeasibility> why = kinds_out_of_reach(task, means_of(task));
  if (!why) return std::nullopt;
  PlanResult result;
  result.infeasible = std::move(why);
  result.stats.backend = gpu ? gpu->name() : cpu->name();
  return result;
}

Task Planner::Impl::with_least_buffers(Task task) {
  if (task.exchange.deduplicate_by_table || task.exchange.hot_rows) {
    for (Table& table : task.tables) table.memory.batch_size = 0;
  }
  return task;
}

void Planner::Impl::settle_reason(const Task& planned, const PlanRequest& request,
                                  PlanResult& result) const {
  std::optional<Infeasibility>& why = result.infeasible;
  if (!why) return;
  const Task task = with_least_buffers(planned);
  if (why->kind == Infeasibility::Kind::kPacking) {
    const StopCondition stop(request.deadline, request.stop);
    if (std::optional<Infeasibility> proof = proof_of_infeasibility(task, stop)) {
      why = std::move(proof);
    }
  }
  if (ways.rows) why = as_far_as_proven(task, means_of(task), *std::move(why));
}

std::optional<Plan> Planner::Impl::place_learned(const Task& task,
                                                 const StopCondition& stop) const {
  if (std::optional<Plan> plan = place_by_policy(*policy, task, stop)) return plan;
  if (std::optional<Plan> plan = place_by_baseline(task, Algorithm::kSizeGreedy, 0)) return plan;
  Task whole = task;
  for (Table& table : whole.tables) table.rules.no_split = true;
  return find_room(*cpu, whole, {.rows = false, .replicas = false}, stop).plan;
}

PlanResult Planner::Impl::plan_by_baseline(const Task& task, const PlanRequest& request) const {
  const Clock::time_point start = Clock::now();
  PlanResult result;
  result.stats.backend = cpu->name();
  if (policy) {
    result.plan = place_learned(task, StopCondition(request.deadline, request.stop));
  } else if (options.algorithm == Algorithm::kUniform) {
    result.plan = cheapest_uniform_plan(*cpu, task);
  } else {
    result.plan = place_by_baseline(task, options.algorithm, options.seed);
  }
  if (result.plan) {
    price_if_it_fits(*cpu, task, options.algorithm, result);
  } else {
    result.infeasible = baseline_failure(task, options.algorithm);
  }
  result.stats.search_ms = milliseconds_since(start);
  return result;
}

PlanResult Planner::Impl::plan_published(const Task& task, const PlanRequest& request,
                                         ThreadTeam::Lease* lease) const {
  const std::string warning =
      threads == 1 ? no_gpu_warning : joined_warnings(no_gpu_warning, team().shortage());
  const auto search_on = [&](const Backend& backend) {
    SearchDriver driver(backend, options, request, warning);
    PlanOutcome outcome;
    const SearchDriver::Job job{task, outcome};
    driver.add({&job, 1});
    while (driver.in_flight() > 0) driver.advance();
    return std::move(outcome).value();
  };
  PlanLaunches launches(kMostLaunches);
  const auto search = [&](const Backend& of_cpu) {
    return gpu ? search_on(gpu_beside(of_cpu, lease != nullptr ? lease->threads() : 1, &launches))
               : search_on(of_cpu);
  };
  return lease != nullptr ? search(TeamBackend(*cpu, *lease)) : search(*cpu);
}

std::optional<PlanOutcome> Planner::Impl::plan_of_plainer_task(const Task& task,
                                                               const PlanRequest& request,
                                                               Effort effort, bool alone) const {
  const bool is_plain = !task.links && !task.exchange.deduplicate_by_table;
  if (is_plain || options.algorithm != Algorithm::kNeuroshard) return std::nullopt;
  Task plainer = task;
  if (has_link_levels(task)) {
    plainer.links->levels.clear();
  } else {
    plainer.links.reset();
    plainer.exchange.deduplicate_by_table = false;
  }
  const PlanRequest half = with_half_the_time(
      {.deadline = request.deadline, .stop = request.stop, .storage = request.storage});
  try {
    return own.for_task(plainer)->plan_anew(plainer, half, effort, alone);
  } catch (const Error& error) {
    return error;  // A plan of the task itself may do without.
  }
}

void Planner::Impl::add_work_of_plainer_task(const Task& task, const PlanOutcome& plainer,
                                             PlanResult& result) {
  if (!plainer) {
    const std::string left_out =
        has_link_levels(task) ? "levels of links" : "links and deduplication";
    result.stats.warning = joined_warnings(
        result.stats.warning, "the plan without the task's " + left_out +
                                  " was not considered, because its search ended with an error: " +
                                  plainer.error().what());
    return;
  }
  SearchStats stats = plainer->stats;
  stats.warning.clear();  // It speaks of the place where that was planned.
  add_work_of_start(plainer->complete, stats, result);
}

namespace {

// Where so little of HBM is left beside all tables, rows in host memory may be worth their way.
constexpr double kFullShareOfHbm = 0.7;

/// All tables take of the HBM of all devices.
double share_of_hbm(const Task& task) {
  double room = 0.0;
  for (std::size_t d = 0; std::cmp_less(d, task.devices); ++d) {
    room += static_cast<double>(hbm_room_bytes(task, d));
  }
  return static_cast<double>(total_bytes(task)) / room;
}

}  // namespace

std::optional<PlanResult> Planner::Impl::plan_in_hbm(const Task& task, const PlanRequest& request,
                                                     Effort effort, bool alone) const {
  const auto waits = [](const Table& table) { return table.rules.hbm_share > 0.0; };
  if (task.host.bytes == 0 || std::ranges::any_of(task.tables, waits)) return std::nullopt;
  if (share_of_hbm(task) > 1.0) return std::nullopt;
  Task in_hbm = task;
  set_host_memory(in_hbm, 0);
  PlanResult result = plan_anew(in_hbm, with_half_the_time(request), effort, alone);
  if (!result.plan) return std::nullopt;
  result.cost = neuroshard::simulate(*cpu, task, *result.plan);
  for (CostedPlan& other : result.alternatives) {
    other.cost = neuroshard::simulate(*cpu, task, other.plan);
  }
  return result;
}

std::optional<PlanResult> Planner::Impl::plan_apart_in_columns(const Task& task,
                                                               const PlanRequest& request,
                                                               const Starts& starts, Effort effort,
                                                               ThreadTeam::Lease* lease) const {
  Task in_columns = task;
  bool any_in_blocks = false;
  for (const TableGroup& group : task.groups) {
    for (const int table : group.tables) {
      const auto t = static_cast<std::size_t>(table);
      if (!ways.rows || !may_be_in_blocks(task, task.tables[t], ways.parts)) continue;
      any_in_blocks = true;
      std::erase_if(in_columns.tables[t].rules.kinds, [](ShardingKind kind) {
        return kind != ShardingKind::kTable && kind != ShardingKind::kColumn;
      });
    }
  }
  if (!any_in_blocks) return std::nullopt;
  return plan_by_portfolio(
      in_columns,
      with_half_the_time(
          {.deadline = request.deadline, .stop = request.stop, .storage = request.storage}),
      {.published = starts.published}, effort, lease);
}

PlanResult Planner::Impl::plan_anew(const Task& stated, const PlanRequest& request, Effort effort,
                                    bool alone, const Published& published) const {
  // Plans are priced again and again.
  std::optional<Task> with_popularity;
  const bool is_asked = stated.host.bytes > 0 || request.storage.touched_in_samples > 0.0;
  if (is_asked) {
    const StopCondition stop(request.deadline, request.stop);
    with_popularity.emplace(with_known_popularity(stated, stop));
  }
  const Task& task = with_popularity ? *with_popularity : stated;
  std::optional<PlanResult> in_hbm = plan_in_hbm(task, request, effort, alone);
  if (in_hbm &&
      (options.algorithm != Algorithm::kNeuroshard || share_of_hbm(task) <= kFullShareOfHbm)) {
    return *std::move(in_hbm);
  }
  if (std::optional<PlanResult> none = out_of_reach(task)) return *std::move(none);
  std::optional<Task> with_rules;
  const Task& planned = task.groups.empty() ? task : with_rules.emplace(with_rules_of_groups(task));
  const std::optional<PlanOutcome> plainer = plan_of_plainer_task(task, request, effort, alone);
  std::optional<ThreadTeam::Lease> lease;
  if (threads > 1 && !alone) lease = team().try_lease();
  ThreadTeam::Lease* const team_of_plan = lease ? &*lease : nullptr;
  const auto search_published = [&] {
    const std::optional<BundledTask> start = task_of_start(planned);
    PlanResult found = published
                           ? published()
                           : plan_published(start ? start->task : planned, request, team_of_plan);
    if (start && found.plan) found.plan = start->plan_of_listed(*found.plan);
    return found;
  };
  if (options.algorithm == Algorithm::kPublished) return search_published();
  if (options.algorithm != Algorithm::kNeuroshard) return plan_by_baseline(planned, request);
  Starts starts;
  if (plainer && *plainer && (*plainer)->plan) starts.plainer.push_back(&*(*plainer)->plan);
  if (in_hbm) starts.plainer.push_back(&*in_hbm->plan);
  if (searches_published(planned, effort)) starts.published = search_published;
  std::optional<PlanResult> in_columns =
      plan_apart_in_columns(planned, request, starts, effort, team_of_plan);
  if (in_columns) starts.published = {};  // It was one of the starts there.
  if (in_columns && in_columns->plan) starts.plainer.push_back(&*in_columns->plan);
  PlanResult result = plan_by_portfolio(planned, request, starts, effort, team_of_plan);
  if (plainer) add_work_of_plainer_task(task, *plainer, result);
  if (in_hbm) add_work_of_start(in_hbm->complete, in_hbm->stats, result);
  if (in_columns) {
    add_work_of_start(in_columns->complete, in_columns->stats, result);
    result.stats.backend = in_columns->stats.backend;  // The published search has run there.
  }
  return result;
}

Planner::Planner(CostModels models, PlannerOptions options) {
  impl_ = std::make_unique<Impl>(std::move(models), checked_options(std::move(options)));
}

Planner::~Planner() = default;
Planner::Planner(Planner&&) noexcept = default;
Planner& Planner::operator=(Planner&&) noexcept = default;

PlanResult Planner::plan(const Task& task, const PlanRequest& given) const {
  const std::shared_ptr<const Impl> impl = in_use(impl_).for_task(task);
  validate(given);
  const PlanRequest request = impl->request_of_algorithm(given);
  const DeduplicatedTask deduplicated(task);
  PlanResult result = impl->plan_anew(
      deduplicated.task(), task.exchange.hot_rows ? with_half_the_time(request) : request,
      impl->options.effort, false);
  impl->settle_reason(deduplicated.task(), request, result);
  impl->add_hot_rows(task, request, false, result);
  impl->add_warnings(task, result);
  return result;
}

ReplanResult Planner::replan(const Task& stated, const RunningPlan& running,
                             const ReplanRequest& request) const {
  const std::shared_ptr<const Impl> impl = in_use(impl_).for_task(stated);
  validate(request);
  neuroshard::validate(running.task);
  if (impl->options.algorithm != Algorithm::kNeuroshard) {
    throw Error("algorithm " + std::string(name_of(impl->options.algorithm)) +
                " does not re-plan; use neuroshard");
  }
  const Clock::time_point start = Clock::now();
  const std::shared_ptr<const Impl> before = impl_->for_setting_of(running.task);
  const PlanCost running_cost = neuroshard::simulate(*before->cpu, running.task, running.plan);
  ReplanRequest first = request;
  if (stated.exchange.hot_rows) first.plan = with_half_the_time(request.plan);
  const std::vector<HotRows> kept = kept_hot_rows(stated, running);
  ReplanResult result;
  try {
    result = impl->replan_with(kept, stated, running, running_cost, first);
  } catch (const Error&) {
    if (kept.empty()) throw;
  }
  // Hot rows take memory, and are moved to added devices.
  if (!kept.empty() && !result.result.plan) {
    result = impl->replan_with({}, stated, running, running_cost, first);
  }
  if (!result.result.plan) {
    impl->settle_reason(DeduplicatedTask(stated).task(), request.plan, result.result);
  }
  impl->change_hot_rows(stated, running, request, result);
  impl->add_warnings(stated, result.result);
  result.result.stats.search_ms = milliseconds_since(start);
  return result;
}

PlanCost Planner::simulate(const Task& task, const Plan& plan) const {
  neuroshard::validate(task);
  const std::shared_ptr<const Impl> impl = in_use(impl_).for_setting_of(task);
  PlanCost cost = neuroshard::simulate(*impl->cpu, task, plan);
  impl->add_warning(task, plan, cost);
  return cost;
}

PlanExplanation Planner::explain(const Task& task, const Plan& plan) const {
  neuroshard::validate(task);
  const std::shared_ptr<const Impl> impl = in_use(impl_).for_setting_of(task);
  PlanExplanation explanation = neuroshard::explain(*impl->cpu, task, plan);
  impl->add_warning(task, plan, explanation.cost);
  return explanation;
}

std::uint64_t Planner::fingerprint(const Task& task) const {
  const Impl& impl = in_use(impl_);
  return neuroshard::fingerprint(task, impl.options, impl.models);
}

std::string_view Planner::backend() const {
  const Impl& impl = in_use(impl_);
  return impl.gpu ? impl.gpu->name() : impl.cpu->name();
}

}  // namespace neuroshard
