#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/inputs/plan_cases.h"
#include "bench/machine/machine_context.h"
#include "bench/markdown_table.h"
#include "bench/statistics.h"
#include "bench/stopwatch.h"
#include "neuroshard/error.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "tools/command_line/options.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kMixedFooter =
    R"(Measures what a plan gains that knows which devices are fast. Half of the devices are the
first GPU of --gpus, half the second; the built-in models predict costs of an A100. 'blind' is the
plan of as many equal devices, 'told' that of a task that gives the second half its speed: the
cost of the blind plan's tables on the first GPU divided by that on the second. Both are judged by
analytic costs, each device as the GPU that it is, on one network; 'predicted' is by the models
and speeds that the plan was made with, by which it should never be dearer. 'all fast' is the
blind plan if all devices were the second GPU: no plan for half of them should be expected to come
far below that.

Examples:
  nsbench mixed                                         # 64 A100 and 64 H100
  nsbench mixed --devices 8,16,32 --effort fast
  nsbench mixed --gpus a100-sxm-80gb,h200-sxm-141gb)";

struct MixedOptions {
  TableSetOptions cases{.devices = {128}};
  std::vector<std::string> gpus = {std::string(kDefaultGpu), "h100-sxm-80gb"};
  std::string network = std::string(kDefaultNetwork);
  std::string effort = "default";
  std::string cuts = "any";
  int threads = 1;
};

/// Compute of all tables of a plan, in milliseconds of one GPU.
double total_compute_ms(const GpuSpec& gpu, const NetworkSpec& network, const Task& task,
                        const Plan& plan) {
  double sum_ms = 0.0;
  for (const DeviceCost& device : analytic_plan_cost(gpu, network, task, plan).devices) {
    sum_ms += device.compute_ms;
  }
  return sum_ms;
}

struct MixedCosts {
  double speed = 1.0;
  double compute_share = 0.0;  ///< Share of the blind plan's slowest device.
  double blind_ms = 0.0;
  double told_ms = 0.0;
  double predicted_ratio = 0.0;  ///< Told over blind.
  std::size_t replicas = 0;      ///< Replicas in the plan that is told.
  double all_fast_ms = 0.0;
  double time_ratio = 0.0;  ///< CPU time of the plan that is told over that of the blind one.
};

class MixedJudge {
 public:
  explicit MixedJudge(const MixedOptions& options)
      : slow_(gpu_named(options.gpus.front())),
        fast_(gpu_named(options.gpus.back())),
        network_(network_named(options.network)),
        planner_(builtin_weights(), {.effort = effort_from_name(options.effort),
                                     .cuts = cuts_from_name(options.cuts),
                                     .threads = options.threads}) {}

  /// Nothing if there is no plan.
  [[nodiscard]] std::optional<MixedCosts> judge(const Task& task) const {
    const Stopwatch blind_watch;
    const PlanResult blind = planner_.plan(task);
    const double blind_cpu_ms = blind_watch.elapsed().cpu_ms;
    if (!blind.plan) return std::nullopt;
    MixedCosts costs;
    costs.speed = total_compute_ms(slow_, network_, task, *blind.plan) /
                  total_compute_ms(fast_, network_, task, *blind.plan);
    const auto devices = static_cast<std::size_t>(task.devices);
    std::vector<GpuSpec> gpus(devices, slow_);
    Task told = task;
    told.device_list.assign(devices, {.memory_bytes = task.memory_bytes});
    for (std::size_t device = devices / 2; device < devices; ++device) {
      gpus[device] = fast_;
      told.device_list[device].speed = costs.speed;
    }
    const Stopwatch watch;
    const PlanResult result = planner_.plan(told);
    costs.time_ratio = watch.elapsed().cpu_ms / blind_cpu_ms;
    if (!result.plan || planner_.simulate(told, *result.plan).cost_ms != result.cost.cost_ms) {
      throw Error("a plan for devices of two speeds is missing, or costs other than it says",
                  ErrorKind::kBackend);
    }
    costs.predicted_ratio = result.cost.cost_ms / planner_.simulate(told, *blind.plan).cost_ms;
    costs.replicas = result.plan->replicas.size();
    const PlanCost of_blind = analytic_plan_cost(gpus, network_, task, *blind.plan);
    costs.blind_ms = of_blind.cost_ms;
    const auto slowest = std::ranges::max_element(of_blind.devices, {}, &DeviceCost::total_ms);
    costs.compute_share = slowest->compute_ms / slowest->total_ms();
    costs.told_ms = analytic_plan_cost(gpus, network_, told, *result.plan).cost_ms;
    costs.all_fast_ms = analytic_plan_cost(fast_, network_, task, *blind.plan).cost_ms;
    return costs;
  }

 private:
  const GpuSpec& slow_;
  const GpuSpec& fast_;
  const NetworkSpec& network_;
  Planner planner_;
};

void run_mixed(const MixedOptions& options, std::ostream& out) {
  if (options.gpus.size() != 2) throw Error("--gpus: give two names, the slower GPU first");
  const MixedJudge judge(options);
  out << context_block(machine_context()) << '\n';
  MarkdownTable list({"case", "devices", "speed", "compute of blind", "blind ms", "told ms",
                      "told / blind", "predicted", "replicas", "all fast / blind",
                      "CPU time, told / blind"});
  MarkdownTable all({"devices", "cases", "told / blind", "best", "worst", "predicted", "worst",
                     "15 % cheaper", "CPU time"});
  TableSetOptions sets = options.cases;
  for (const int devices : options.cases.devices) {
    sets.devices = {devices};
    std::vector<double> ratios;
    std::vector<double> predicted;
    std::vector<double> times;
    for (const PlanCase& one : table_set_cases(sets)) {
      const std::optional<MixedCosts> costs = judge.judge(one.task);
      if (!costs) continue;
      ratios.push_back(costs->told_ms / costs->blind_ms);
      predicted.push_back(costs->predicted_ratio);
      times.push_back(costs->time_ratio);
      list.add_row({one.name, std::to_string(devices), three_decimals(costs->speed),
                    three_decimals(costs->compute_share), three_digits(costs->blind_ms),
                    three_digits(costs->told_ms), three_decimals(ratios.back()),
                    three_decimals(predicted.back()), std::to_string(costs->replicas),
                    three_decimals(costs->all_fast_ms / costs->blind_ms),
                    three_digits(costs->time_ratio)});
    }
    if (ratios.empty()) continue;
    constexpr double kMuchCheaper = 0.85;
    all.add_row({std::to_string(devices), std::to_string(ratios.size()),
                 three_decimals(geometric_mean(ratios)), three_decimals(std::ranges::min(ratios)),
                 three_decimals(std::ranges::max(ratios)),
                 three_decimals(geometric_mean(predicted)),
                 three_decimals(std::ranges::max(predicted)),
                 std::to_string(std::ranges::count_if(
                     ratios, [](double ratio) { return ratio <= kMuchCheaper; })),
                 three_digits(geometric_mean(times))});
  }
  out << all.str() << '\n' << list.str();
}

}  // namespace

void add_mixed_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<MixedOptions>();
  CLI::App* command =
      program.add_subcommand("mixed", "Gain of plans that know which devices are fast");
  command->footer(kMixedFooter);
  add_table_set_options(*command, options->cases, 2);
  const command_line::OptionGroup general(*command);
  general.with_default("--gpus", options->gpus, "Two GPUs of the analytic costs, the slower first")
      ->delimiter(',');
  general.with_default("--network", options->network, "Network of the analytic costs");
  general.with_default("--effort", options->effort, "Effort of the search");
  general.with_default("--cuts", options->cuts, "Cuts of all plans");
  general.with_default("--threads", options->threads, "Threads of one plan")
      ->check(CLI::Range(1, 1024));
  command_line::run_if_given(*command, chosen, options, run_mixed);
}

}  // namespace neuroshard::bench
