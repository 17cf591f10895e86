// What plans on a GPU cost the host: CPU time of plan_batch by the published search, with kernels
// that are executed here, without the time of these. It has what the library does before a launch
// and after the wait; not what CUDA's driver does in its calls, which are counted.
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>

#include "bench/common_options.h"
#include "bench/json_report.h"
#include "bench/markdown_table.h"
#include "bench/statistics.h"
#include "bench/stopwatch.h"
#include "cuda_host/host_cuda.h"
#include "neuroshard/error.h"
#include "neuroshard/planner.h"
#include "tools/command_line/arguments.h"
#include "weights/files/atomic_file.h"

namespace neuroshard::bench {
namespace {

constexpr double kWantedPlansPerSecond = 20'000.0;

struct ShareOptions {
  CommonOptions common;
  std::vector<std::string> sets = {"4gpu_dim128"};
  std::size_t max_tasks = 100000;
  std::size_t batch = 256;
  int rounds = 5;
};

struct Share {
  std::vector<Elapsed> rounds;  ///< Of a plan, without kernels.
  double launches = 0.0;        ///< A plan, as are the next ones.
  double waits = 0.0;
  double copies = 0.0;

  [[nodiscard]] std::vector<double> cpu_ms() const {
    std::vector<double> all;
    for (const Elapsed& round : rounds) all.push_back(round.cpu_ms);
    return all;
  }
};

void require_same(const std::vector<PlanOutcome>& actual, const std::vector<PlanOutcome>& expected,
                  const std::string& set) {
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (actual[i]->plan == expected[i]->plan &&
        actual[i]->cost.cost_ms == expected[i]->cost.cost_ms && actual[i]->stats.warning.empty()) {
      continue;
    }
    throw Error(set + " task " + std::to_string(i) + ": not the plan of the CPU; nothing was timed",
                ErrorKind::kBackend);
  }
}

Share share_of(const CostModels& models, const TaskSet& set, const ShareOptions& options) {
  PlannerOptions planner{.algorithm = Algorithm::kPublished, .backend = "cuda", .threads = 1};
  const Planner cuda(models, planner);
  planner.backend = available_cpu_backends().front();
  const std::vector<PlanOutcome> expected = Planner(models, planner).plan_batch(set.tasks);
  Share share;
  // The first one checks, and lets buffers grow.
  for (int round = -1; round < options.rounds; ++round) {
    const host_cuda::Usage before = host_cuda::usage();
    const Stopwatch watch;
    const std::vector<PlanOutcome> actual = cuda.plan_batch(set.tasks);
    const Elapsed elapsed = watch.elapsed();
    const host_cuda::Usage after = host_cuda::usage();
    if (round < 0) {
      require_same(actual, expected, set.name);
      continue;
    }
    const auto plans = static_cast<double>(set.tasks.size());
    const double kernels_ms = after.kernels_cpu_ms - before.kernels_cpu_ms;
    share.rounds.push_back(
        {(elapsed.wall_ms - kernels_ms) / plans, (elapsed.cpu_ms - kernels_ms) / plans});
    share.launches = static_cast<double>(after.launches - before.launches) / plans;
    share.waits = static_cast<double>(after.synchronisations - before.synchronisations) / plans;
    share.copies = static_cast<double>(after.copies - before.copies) / plans;
  }
  return share;
}

// So many tasks, those of the set again and again.
TaskSet batch_of(TaskSet set, std::size_t tasks) {
  const std::size_t known = set.tasks.size();
  for (std::size_t i = known; i < tasks; ++i) set.tasks.push_back(set.tasks[i % known]);
  set.tasks.resize(tasks);
  return set;
}

void run(const ShareOptions& options, std::ostream& out) {
  const CostModels models = load_models(options.common);
  host_cuda::reset({.multiprocessors = 132, .memory_bytes = std::size_t{8} << 30});
  const Context context = machine_context();
  out << context_block(context) << '\n';
  MarkdownTable table({"tasks", "batch", "host us a plan", "spread", "launches a plan", "waits",
                       "copies", "cores for 20,000 plans/s"});
  JsonReport report;
  for (const std::string& name : options.sets) {
    const TaskSet set = batch_of(GoldenFolder(options.common.data)
                                     .load_set(name, options.max_tasks, /*published_only=*/false),
                                 options.batch);
    const Share share = share_of(models, set, options);
    const std::vector<double> cpu_ms = share.cpu_ms();
    const double cores = median(cpu_ms) * 1e-3 * kWantedPlansPerSecond;
    table.add_row({name, with_separators(static_cast<std::int64_t>(set.tasks.size())),
                   three_digits(1e3 * median(cpu_ms)), percent(relative_spread(cpu_ms)),
                   three_digits(share.launches), three_digits(share.waits),
                   three_digits(share.copies), three_digits(cores)});
    report.add({.name = "host_share/" + name,
                .rounds = share.rounds,
                .operations = static_cast<std::int64_t>(set.tasks.size()),
                .figures = {{"launches", share.launches},
                            {"waits", share.waits},
                            {"copies", share.copies},
                            {"cores", cores}},
                .label = ""});
  }
  out << table.str();
  if (!options.common.json.empty()) write_file(options.common.json, report.str(context));
}

int run_program(const std::vector<std::string>& args) {
  const std::string name = "cuda_host_share";
  try {
    CLI::App program("CPU time of plan_batch with kernels executed on the CPU, without theirs.",
                     name);
    ShareOptions options;
    add_common_options(program, options.common);
    program.add_option("--sets", options.sets, "Task sets")->delimiter(',')->capture_default_str();
    program.add_option("--tasks", options.max_tasks, "Different tasks of each, at most")
        ->check(CLI::Range(1, 100000));
    program.add_option("--batch", options.batch, "Tasks planned together")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    program.add_option("--rounds", options.rounds, "Timed batches")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    const auto ended = command_line::parse(program, args, std::cout, std::cerr);
    if (!ended) run(options, std::cout);
    return ended.value_or(kExitOk);
  } catch (const std::exception& error) {
    return command_line::fail(std::cerr, name, error.what());
  }
}

}  // namespace
}  // namespace neuroshard::bench

int main(int argc, char** argv) {
  neuroshard::command_line::prepare_process();
  return neuroshard::bench::run_program({argv + (argc > 0 ? 1 : 0), argv + argc});
}
