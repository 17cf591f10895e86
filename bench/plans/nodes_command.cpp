#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
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

constexpr const char* kNodesFooter =
    R"(Compares plans that know the links of nodes with plans made without them, both judged by
analytic costs of those links (docs/analytic_costs.md). Ratios are the cost of the plan made
without links divided by that of the plan made with them, the predicted cost of the latter divided
by its analytic one, and the CPU time with links divided by that without, on one thread. By
default nodes of 8 share one adapter of 25 GB/s.

Examples:
  nsbench nodes
  nsbench nodes --devices 16,64 --devices-per-node 4 --in-node-gb-s 31.5 --node-gb-s 12.5
  nsbench nodes --between-nodes-gb-s 3 --node-gb-s 0 --cuts columns)";

struct NodesOptions {
  TableSetOptions cases{.devices = {64}};
  std::string effort = "default";
  std::string cuts = "any";
  int devices_per_node = kDefaultDevicesPerNode;
  NodeLinks links{.node_gb_s = 25.0};
};

struct NodesGains {
  std::vector<double> cost;
  std::vector<double> predicted;
  std::vector<double> time;
};

void run_nodes(const NodesOptions& options, std::ostream& out) {
  const Planner planner(builtin_weights(), {.effort = effort_from_name(options.effort),
                                            .cuts = cuts_from_name(options.cuts),
                                            .threads = 1});
  MarkdownTable list({"case", "devices", "without links ms", "with links ms", "without / with",
                      "predicted / analytic", "replicas, without", "with", "slices, without",
                      "with", "CPU time, with / without"});
  std::map<int, NodesGains> gains;
  for (PlanCase& one : table_set_cases(options.cases)) {
    const Stopwatch without_watch;
    const PlanResult without = planner.plan(one.task);
    const double without_cpu_ms = without_watch.elapsed().cpu_ms;
    if (!without.plan) continue;
    Task task = one.task;
    task.devices_per_node = options.devices_per_node;
    task.links = options.links;
    const Stopwatch with_watch;
    const PlanResult with = planner.plan(task);
    const double with_cpu_ms = with_watch.elapsed().cpu_ms;
    if (!with.plan) throw Error("a task has a plan only if it states no links");
    const auto analytic_ms = [&](const Plan& plan) {
      return analytic_plan_cost(gpu_named(kDefaultGpu), network_named(kDefaultNetwork), task, plan)
          .cost_ms;
    };
    const double without_ms = analytic_ms(*without.plan);
    const double with_ms = analytic_ms(*with.plan);
    NodesGains& of = gains[task.devices];
    of.cost.push_back(without_ms / with_ms);
    of.predicted.push_back(with.cost.cost_ms / with_ms);
    of.time.push_back(with_cpu_ms / without_cpu_ms);
    list.add_row(
        {one.name, std::to_string(task.devices), three_digits(without_ms), three_digits(with_ms),
         three_decimals(of.cost.back()), three_decimals(of.predicted.back()),
         std::to_string(without.plan->replicas.size()), std::to_string(with.plan->replicas.size()),
         std::to_string(without.plan->slices.size()), std::to_string(with.plan->slices.size()),
         three_digits(of.time.back())});
  }
  MarkdownTable all({"devices", "cases", "without / with", "least", "most", "cheaper",
                     "predicted / analytic", "least", "most", "CPU time, with / without"});
  for (const auto& [devices, of] : gains) {
    const auto cheaper = std::ranges::count_if(of.cost, [](double ratio) { return ratio > 1.0; });
    all.add_row({std::to_string(devices), std::to_string(of.cost.size()),
                 three_decimals(geometric_mean(of.cost)), three_decimals(std::ranges::min(of.cost)),
                 three_decimals(std::ranges::max(of.cost)), std::to_string(cheaper),
                 three_decimals(geometric_mean(of.predicted)),
                 three_decimals(std::ranges::min(of.predicted)),
                 three_decimals(std::ranges::max(of.predicted)),
                 three_digits(geometric_mean(of.time))});
  }
  out << context_block(machine_context()) << '\n' << all.str() << '\n' << list.str();
}

}  // namespace

void add_nodes_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<NodesOptions>();
  CLI::App* command = program.add_subcommand("nodes", "Gain of plans that know links of nodes");
  command->footer(kNodesFooter);
  add_table_set_options(*command, options->cases);
  const command_line::OptionGroup general(*command);
  general.with_default("--effort", options->effort, "Effort of the search");
  general.with_default("--cuts", options->cuts, "Cuts of both plans");
  general.with_default("--devices-per-node", options->devices_per_node, "Devices of a node")
      ->check(CLI::Range(1, kMaxDevices));
  const auto add_link = [&](const char* name, double& gb_s, const char* help) {
    general.with_default(name, "GB/s", gb_s, help)->check(CLI::Range(0.0, kMostGbPerSecond));
  };
  add_link("--in-node-gb-s", options->links.in_node_gb_s,
           "Bandwidth of a device in its node; 0: NVLink 3");
  add_link("--between-nodes-gb-s", options->links.between_nodes_gb_s,
           "Bandwidth of a device to other nodes; 0: HDR InfiniBand");
  add_link("--node-gb-s", options->links.node_gb_s,
           "Bandwidth of a node to other nodes; 0: no limit");
  command_line::run_if_given(*command, chosen, options, run_nodes);
}

}  // namespace neuroshard::bench
