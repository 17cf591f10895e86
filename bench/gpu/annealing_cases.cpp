#include "bench/gpu/annealing_cases.h"

#include "bench/gpu/event_timer.h"
#include "bench/scoring/score_report.h"
#include "core/kernels/cpu_kernels.h"
#include "core/placement/cpu_backend.h"
#include "cuda/backend/chain_launches.h"
#include "cuda/device/current_device.h"
#include "neuroshard/error.h"
#include "search/baselines.h"
#include "search/improvement/annealing.h"

namespace neuroshard::bench {
namespace {

// Of an edit, on average, by the estimates of docs/kernels.md.
constexpr double kEditCycles = 2700.0;
constexpr std::size_t kChainsOfTask = 3;

/// Chains of annealing of some tasks, from plans by a baseline.
class Chains {
 public:
  Chains(const CostModels& models, const SharedContext& context, std::vector<Task> tasks,
         std::uint64_t edits)
      : context_(context), cpu_(select_cpu_kernels("auto"), models, true) {
    for (const Task& listed : tasks) {
      const std::optional<Plan> plan = place_by_baseline(listed, Algorithm::kDimGreedy, 0);
      if (!plan) continue;
      OfTask& of = *tasks_.emplace_back(std::make_unique<OfTask>(cpu_, listed));
      of.start = layout_of(of.catalog, *plan);
      of.problem = annealing_problem(cpu_, of.catalog, of.task, false).value();
      for (std::size_t i = 0; i < kChainsOfTask; ++i) {
        of.options.push_back(
            {.steps = edits, .stream = i, .halves = i % 2 == 0 ? Halves::kJoined : Halves::kKept});
        of.chains.push_back(annealing_chain(of.start, of.options.back()));
      }
      of.outcomes.resize(kChainsOfTask);
    }
  }

  double run() {
    gpu::ChainLaunches launches(*context_, cpu_.prices_ids());
    for (const auto& of : tasks_) {
      for (std::size_t i = 0; i < kChainsOfTask; ++i) {
        of->outcomes[i].reset();
        launches.add({&of->problem, &of->chains[i], &of->outcomes[i]});
      }
    }
    launches.prepare();
    const gpu::CurrentDevice current(context_->device());
    const double seconds = timer_.seconds(launches.stream(), [&] { launches.launch(); });
    launches.finish();
    return seconds;
  }

  void check() {
    (void)run();
    for (const auto& of : tasks_) {
      for (std::size_t i = 0; i < kChainsOfTask; ++i) {
        if (of->outcomes[i] == anneal(cpu_, of->catalog, of->task, of->start, of->options[i], {})) {
          continue;
        }
        throw Error("anneal_chains: a chain is not that of the CPU; nothing was timed",
                    ErrorKind::kBackend);
      }
    }
  }

  /// Of a run before.
  [[nodiscard]] Annealed work() const {
    Annealed total;
    for (const auto& of : tasks_) {
      for (const std::optional<Annealed>& outcome : of->outcomes) {
        if (!outcome) continue;
        total.edits += outcome->edits;
        total.head_evaluations += outcome->head_evaluations;
        total.comm_evaluations += outcome->comm_evaluations;
      }
    }
    return total;
  }

 private:
  struct OfTask {
    OfTask(const Backend& backend, const Task& listed) : task(listed), catalog(backend, task) {}

    Task task;
    PieceCatalog catalog;
    Layout start;
    AnnealingProblem problem;
    std::vector<AnnealingOptions> options;
    std::vector<AnnealingChain> chains;
    std::vector<std::optional<Annealed>> outcomes;
  };

  SharedContext context_;
  CpuBackend cpu_;
  std::vector<std::unique_ptr<OfTask>> tasks_;
  EventTimer timer_;
};

}  // namespace

void add_annealing_cases(std::vector<KernelCase>& cases, const CostModels& models,
                         const GoldenFolder& data, const SharedContext& context,
                         const KernelSizes& sizes) {
  if (!sizes.wants("anneal_chains")) return;
  for (const std::string& name : sizes.task_sets) {
    const std::vector<Task> tasks = data.load_set(name, sizes.tasks, false).tasks;
    for (const std::vector<Task>& of : {std::vector<Task>{tasks.front()}, tasks}) {
      const gpu::CurrentDevice current(context->device());
      const auto chains = std::make_shared<Chains>(models, context, of, sizes.edits);
      (void)chains->run();
      const Annealed work = chains->work();
      cases.push_back(
          {.kernel = "anneal_chains",
           .input = name + ", chains of " +
                    (of.size() == 1 ? std::string("a task") : std::to_string(of.size()) + " tasks"),
           .items = static_cast<double>(work.edits),
           // Those of heads; what the networks are asked for depends on the devices.
           .multiply_adds = static_cast<double>(work.head_evaluations) *
                            multiply_adds_per_shard(models.compute.head),
           .modelled_seconds = static_cast<double>(sizes.edits) * kEditCycles / kModelledClockHz,
           .check = [chains] { chains->check(); },
           .run = [chains] { return chains->run(); }});
    }
  }
}

}  // namespace neuroshard::bench
