#include "bench/gpu/placement_cases.h"

#include <algorithm>
#include <array>

#include "bench/gpu/event_timer.h"
#include "bench/markdown_table.h"
#include "bench/scoring/score_report.h"
#include "core/kernels/cpu_kernels.h"
#include "core/placement/cpu_backend.h"
#include "cuda/backend/beam_launches.h"
#include "cuda/backend/placement_launches.h"
#include "cuda/device/current_device.h"
#include "neuroshard/error.h"
#include "search/published_search.h"

namespace neuroshard::bench {
namespace {

/// The beam searches of some tasks, before their first level.
class Searches {
 public:
  Searches(const CostModels& models, const SharedContext& context, std::vector<Task> tasks)
      : context_(context),
        tasks_(std::move(tasks)),
        cpu_(select_cpu_kernels("auto"), models, true) {
    for (const Task& task : tasks_) {
      catalogs_.push_back(std::make_unique<PieceCatalog>(cpu_, task));
      searches_.push_back(start(searches_.size()));
      sessions_.push_back(
          std::make_unique<gpu::CudaSession>(*context, cpu_, searches_.back()->problem()));
    }
  }

  /// Work of one call of `run`.
  [[nodiscard]] PlacementCounters work_of(const auto& run) {
    const PlacementCounters before = sum();
    (void)run();
    const PlacementCounters after = sum();
    return {.greedy_runs = after.greedy_runs - before.greedy_runs,
            .head_evaluations = after.head_evaluations - before.head_evaluations,
            .comm_evaluations = after.comm_evaluations - before.comm_evaluations};
  }

 protected:
  [[nodiscard]] std::size_t size() const { return tasks_.size(); }
  [[nodiscard]] PublishedSearch& search(std::size_t task) { return *searches_[task]; }
  [[nodiscard]] gpu::CudaSession& session(std::size_t task) { return *sessions_[task]; }
  [[nodiscard]] const gpu::DeviceContext& context() const { return *context_; }
  /// Another search of the same task.
  [[nodiscard]] std::unique_ptr<PublishedSearch> start(std::size_t task) {
    return std::make_unique<PublishedSearch>(cpu_, tasks_[task], options_, *catalogs_[task]);
  }
  [[nodiscard]] std::unique_ptr<PlacementSession> cpu_session(const PublishedSearch& search) {
    return cpu_.start(search.problem());
  }
  static std::vector<CandidateResult> placed(PlacementSession& session,
                                             const PublishedSearch& search) {
    std::vector<CandidateResult> results(search.candidates().size());
    session.place(search.candidates(), results);
    return results;
  }
  /// Seconds of the kernels alone: what they are told is copied before, results after.
  double run_timed(auto& launches) {
    launches.prepare();
    const double seconds = time(launches);
    launches.finish();
    return seconds;
  }

 private:
  double time(auto& launches) {
    const gpu::CurrentDevice current(context_->device());
    return timer_.seconds(launches.stream(), [&] { launches.launch(); });
  }
  [[nodiscard]] PlacementCounters sum() const {
    PlacementCounters total;
    for (const auto& session : sessions_) total += session->counters();
    return total;
  }

  SharedContext context_;
  std::vector<Task> tasks_;
  CpuBackend cpu_;
  SearchOptions options_;
  std::vector<std::unique_ptr<PieceCatalog>> catalogs_;
  std::vector<std::unique_ptr<PublishedSearch>> searches_;
  std::vector<std::unique_ptr<gpu::CudaSession>> sessions_;
  EventTimer timer_;
};

/// The first level of each: some twenty candidates.
class Level : public Searches {
 public:
  Level(const CostModels& models, const SharedContext& context, std::vector<Task> tasks)
      : Searches(models, context, std::move(tasks)) {
    for (std::size_t i = 0; i < size(); ++i) {
      const auto cpu = cpu_session(search(i));
      search(i).take(placed(*cpu, search(i)), *cpu);
      results_.emplace_back(search(i).candidates().size());
    }
  }

  double run() {
    gpu::PlacementLaunches launches(context());
    for (std::size_t i = 0; i < size(); ++i) {
      launches.add(session(i), search(i).candidates(), results_[i]);
    }
    return run_timed(launches);
  }

  void check() {
    (void)run();
    for (std::size_t i = 0; i < size(); ++i) {
      if (placed(*cpu_session(search(i)), search(i)) == results_[i]) continue;
      throw Error("place_candidates: the results of task " + std::to_string(i) +
                      " are not those of the CPU; nothing was timed",
                  ErrorKind::kBackend);
    }
  }

 private:
  std::vector<std::vector<CandidateResult>> results_;
};

/// All levels of each, in one launch.
class WholeSearches : public Searches {
 public:
  WholeSearches(const CostModels& models, const SharedContext& context, std::vector<Task> tasks)
      : Searches(models, context, std::move(tasks)) {
    for (std::size_t i = 0; i < size(); ++i) outcomes_.emplace_back(search(i).beams().size());
  }

  double run() {
    gpu::BeamLaunches launches(context());
    for (std::size_t i = 0; i < size(); ++i) {
      for (std::size_t beam = 0; beam < outcomes_[i].size(); ++beam) {
        launches.add(session(i), search(i).beams()[beam], outcomes_[i][beam]);
      }
    }
    return run_timed(launches);
  }

  void check() {
    (void)run();
    for (std::size_t i = 0; i < size(); ++i) {
      const auto by_levels = start(i);
      const auto in_one = start(i);
      const auto cpu = cpu_session(*by_levels);
      in_one->take_beams(outcomes_[i], *cpu);
      std::array<PlanResult, 2> found;
      for (std::size_t k = 0; k < 2; ++k) {
        PublishedSearch& one = k == 0 ? *by_levels : *in_one;
        while (one.running()) one.take(placed(*cpu, one), *cpu);
        one.finish(found[k]);
      }
      if (found[0].plan == found[1].plan &&
          found[0].stats.candidates == found[1].stats.candidates) {
        continue;
      }
      throw Error("search_beams: the plan of task " + std::to_string(i) +
                      " is not that of the CPU; nothing was timed",
                  ErrorKind::kBackend);
    }
  }

 private:
  std::vector<std::vector<BeamOutcome>> outcomes_;
};

template <class Placing>
KernelCase placement_case(const char* kernel, const CostModels& models,
                          const SharedContext& context, const std::vector<Task>& tasks,
                          const std::string& input) {
  const int devices = tasks.front().devices;
  const CommModel& comm = models.comm_for(devices);
  const double row =
      comm_multiply_adds(comm.forward, devices) + comm_multiply_adds(comm.backward, devices);
  const gpu::CurrentDevice current(context->device());
  const auto placing = std::make_shared<Placing>(models, context, tasks);
  const PlacementCounters work = placing->work_of([&] { return placing->run(); });
  return {.kernel = kernel,
          .input = input,
          .items = static_cast<double>(work.greedy_runs),
          .multiply_adds = static_cast<double>(work.head_evaluations) *
                               multiply_adds_per_shard(models.compute.head) +
                           static_cast<double>(work.comm_evaluations) * row,
          .check = [placing] { placing->check(); },
          .run = [placing] { return placing->run(); }};
}

}  // namespace

void add_placement_cases(std::vector<KernelCase>& cases, const CostModels& models,
                         const GoldenFolder& data, const SharedContext& context,
                         const KernelSizes& sizes) {
  const bool levels = sizes.wants("place_candidates");
  const bool searches = sizes.wants("search_beams");
  for (const std::string& name : sizes.task_sets) {
    const std::vector<Task> tasks = data.load_set(name, sizes.tasks, false).tasks;
    const std::string all = with_separators(static_cast<std::int64_t>(tasks.size())) + " tasks";
    const auto of_all = [&](const char* what) {
      std::string label = name;
      return label.append(", ").append(all).append(what);
    };
    if (levels) {
      cases.push_back(placement_case<Level>("place_candidates", models, context, {tasks.front()},
                                            name + ", a task's level"));
      cases.push_back(
          placement_case<Level>("place_candidates", models, context, tasks, of_all("' levels")));
    }
    if (searches) {
      cases.push_back(placement_case<WholeSearches>("search_beams", models, context,
                                                    {tasks.front()}, name + ", a task's search"));
      cases.push_back(placement_case<WholeSearches>("search_beams", models, context, tasks,
                                                    of_all("' searches")));
    }
  }
  if (!levels) return;
  Task large{.tables = data.tables(), .devices = 128, .memory_bytes = 0};
  large.tables.resize(std::min(large.tables.size(), sizes.large_tables));
  std::int64_t total = 0;
  for (std::size_t i = 0; i < large.tables.size(); ++i) {
    Table& table = large.tables[i];
    table.dim = 16 << i % 4;
    total += table.size_bytes();
    large.memory_bytes = std::max(large.memory_bytes, table.size_bytes());
  }
  large.memory_bytes = std::max(large.memory_bytes, 2 * total / large.devices);
  cases.push_back(
      placement_case<Level>("place_candidates", models, context, {large},
                            with_separators(static_cast<std::int64_t>(large.tables.size())) +
                                " tables on 128 devices, a level"));
}

}  // namespace neuroshard::bench
