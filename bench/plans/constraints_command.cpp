#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/inputs/plan_cases.h"
#include "bench/machine/machine_context.h"
#include "bench/markdown_table.h"
#include "bench/statistics.h"
#include "bench/stopwatch.h"
#include "core/base/count_up.h"
#include "core/base/message_text.h"
#include "core/base/random.h"
#include "neuroshard/error.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "tools/command_line/options.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kConstraintsFooter =
    R"(Compares tasks that have rules, groups, links and devices that differ with plain tasks: the
search's time and the plan's predicted cost, divided by those of the plain task. Each task gets
these variants, one by one and all at once (those that need no more memory than the plain task
has):

  equal     the plain task again, its devices listed: how exact the times are
  memory    devices of 1 to 2 times the memory: the plain plan is still one
  speeds    every other device is 1.5 times as fast
  base      every fourth device has a base load, a tenth of the plain plan's cost
  widths    a third of the tables are not cut, or to a few slices only
  devices   a third of the tables may only go to half of the devices
  nodes     a third of the tables may only go to half of the nodes of 4 devices
  together  small tables are kept together, three of each
  apart     every two of the large tables are kept apart
  links     nodes of 8 devices, or of half of all devices, share an adapter of 25 GB/s
  all       all of these but nodes and links
  all_links all of these but nodes

Edits, and evaluations of the networks for computing and communication, count the work of a
search, while times depend on what else a machine does.

Examples:
  nsbench constraints                                  # 8, 16, 64 and 128 devices
  nsbench constraints --devices 16 --variants memory,links --rounds 5
  nsbench constraints --golden-tasks 10                # also 10 of each published set)";

struct ConstraintsOptions {
  TableSetOptions cases{.devices = {8, 16, 64, 128}};
  std::string golden = "tests/data/golden";
  std::size_t golden_tasks = 0;
  std::vector<std::string> variants;
  std::string effort = "default";
  std::string cuts = "any";
  int rounds = 1;
  bool list = false;
};

/// A variant changes a task so; `plain_ms` is the cost of its plan.
using Constrain = void (*)(Task& task, double plain_ms, Random& random);

std::vector<Device>& device_list_of(Task& task) {
  if (task.device_list.empty()) {
    task.device_list.assign(static_cast<std::size_t>(task.devices),
                            {.memory_bytes = task.memory_bytes});
  }
  return task.device_list;
}

void list_devices(Task& task, double, Random&) { device_list_of(task); }

void vary_memory(Task& task, double, Random& random) {
  for (Device& device : device_list_of(task)) {
    device.memory_bytes +=
        static_cast<std::int64_t>(random.uniform() * static_cast<double>(task.memory_bytes));
  }
}

void vary_speeds(Task& task, double, Random&) {
  std::vector<Device>& devices = device_list_of(task);
  for (std::size_t d = 0; d < devices.size(); d += 2) devices[d].speed = 1.5;
}

void add_base_loads(Task& task, double plain_ms, Random&) {
  std::vector<Device>& devices = device_list_of(task);
  for (std::size_t d = 0; d < devices.size(); d += 4) devices[d].base_ms = 0.1 * plain_ms;
}

void limit_widths(Task& task, double, Random& random) {
  for (Table& table : task.tables) {
    if (random.below(3) != 0) continue;
    // A large table may have to be cut.
    const bool large = 4 * table.size_bytes() > task.memory_bytes;
    const std::uint64_t rule = random.below(3);
    if (rule == 0 && !large) table.rules.no_split = true;
    if (rule == 1 && !large) table.rules.max_slices = 2;
    if (rule == 2) table.rules.min_width = std::min(table.dim, 16);
  }
}

void limit_devices(Task& task, double, Random& random) {
  for (Table& table : task.tables) {
    if (random.below(3) != 0) continue;
    std::vector<int> devices = count_up<int>(static_cast<std::size_t>(task.devices));
    shuffle(std::span(devices), random);
    table.rules.devices.assign(devices.begin(), devices.begin() + (task.devices + 1) / 2);
  }
}

void limit_nodes(Task& task, double, Random& random) {
  constexpr int kDevicesOfNode = 4;
  task.devices_per_node = kDevicesOfNode;
  const int nodes = (task.devices + kDevicesOfNode - 1) / kDevicesOfNode;
  if (nodes < 2) return;
  for (Table& table : task.tables) {
    if (random.below(3) != 0) continue;
    for (int node = static_cast<int>(random.below(2)); node < nodes; node += 2) {
      table.rules.nodes.push_back(node);
    }
  }
}

/// By size, the smallest first.
std::vector<int> tables_by_size(const Task& task) {
  std::vector<int> tables = count_up<int>(task.tables.size());
  std::ranges::stable_sort(tables, {}, [&](int table) {
    return task.tables[static_cast<std::size_t>(table)].size_bytes();
  });
  return tables;
}

void keep_together(Task& task, double, Random&) {
  constexpr std::size_t kTables = 3;
  const std::vector<int> tables = tables_by_size(task);
  for (std::size_t i = 0; i + kTables <= tables.size() / 2; i += kTables) {
    const auto first = tables.begin() + static_cast<std::ptrdiff_t>(i);
    TableGroup group{.name = {}, .tables = {first, first + kTables}};
    // Devices that all may go to.
    for (const int table : group.tables) {
      task.tables[static_cast<std::size_t>(table)].rules.devices.clear();
      task.tables[static_cast<std::size_t>(table)].rules.nodes.clear();
    }
    task.groups.push_back(std::move(group));
  }
}

void keep_apart(Task& task, double, Random&) {
  const std::vector<int> tables = tables_by_size(task);
  for (std::size_t i = tables.size(); i >= 2 + tables.size() / 2; i -= 2) {
    task.groups.push_back(
        {.name = {}, .tables = {tables[i - 1], tables[i - 2]}, .keep = Keep::kApart});
  }
}

void add_adapters(Task& task, double, Random&) {
  task.devices_per_node = std::clamp(task.devices / 2, 1, kDefaultDevicesPerNode);
  task.links = NodeLinks{.node_gb_s = 25.0};
}

void add_all_but_links(Task& task, double plain_ms, Random& random) {
  vary_memory(task, plain_ms, random);
  vary_speeds(task, plain_ms, random);
  add_base_loads(task, plain_ms, random);
  limit_widths(task, plain_ms, random);
  limit_devices(task, plain_ms, random);
  keep_together(task, plain_ms, random);
  keep_apart(task, plain_ms, random);
}

void add_all(Task& task, double plain_ms, Random& random) {
  add_all_but_links(task, plain_ms, random);
  add_adapters(task, plain_ms, random);
}

struct Variant {
  const char* name;
  Constrain constrain;
};

constexpr std::array<Variant, 12> kVariants = {{{"equal", list_devices},
                                                {"memory", vary_memory},
                                                {"speeds", vary_speeds},
                                                {"base", add_base_loads},
                                                {"widths", limit_widths},
                                                {"devices", limit_devices},
                                                {"nodes", limit_nodes},
                                                {"together", keep_together},
                                                {"apart", keep_apart},
                                                {"links", add_adapters},
                                                {"all", add_all_but_links},
                                                {"all_links", add_all}}};

std::vector<Variant> chosen_variants(const std::vector<std::string>& names) {
  if (names.empty()) return {kVariants.begin(), kVariants.end()};
  std::vector<Variant> chosen;
  for (const std::string& name : names) {
    const auto* const found =
        std::ranges::find_if(kVariants, [&](const Variant& one) { return one.name == name; });
    if (found == kVariants.end()) {
      throw Error("--variants: there is no '" + name + "'; give some of " +
                  joined(kVariants, ", ", &Variant::name));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

/// A plan of a task that has one.
struct Planned {
  PlanResult result;
  std::vector<double> cpu_ms;  ///< Time of each round.
};

struct VariantRatios {
  std::vector<double> time;
  std::vector<double> edits;
  std::vector<double> head;
  std::vector<double> comm;
  std::vector<double> cost;
  int without_plan = 0;
};

void run_round(const Planner& planner, const Task& task, Planned& planned) {
  const Stopwatch watch;
  PlanResult result = planner.plan(task);
  planned.cpu_ms.push_back(watch.elapsed().cpu_ms);
  if (planned.cpu_ms.size() > 1 && result.cost.cost_ms != planned.result.cost.cost_ms) {
    throw Error("a task has two plans of different costs", ErrorKind::kBackend);
  }
  if (result.plan && planner.simulate(task, *result.plan).cost_ms != result.cost.cost_ms) {
    throw Error("a plan costs other than it says", ErrorKind::kBackend);
  }
  planned.result = std::move(result);
}

double ratio_of(std::uint64_t a, std::uint64_t b) {
  // A task for which neither is counted has them alike.
  return (static_cast<double>(a) + 1.0) / (static_cast<double>(b) + 1.0);
}

/// Results of tasks under each variant, over those of the plain ones.
class VariantComparison {
 public:
  explicit VariantComparison(const std::vector<Variant>& variants) : variants_(variants) {}

  void add(const PlanCase& one, const Planned& plain, std::size_t variant, const Planned& planned) {
    const PlanResult& before = plain.result;
    const PlanResult& result = planned.result;
    VariantRatios& of = by_variant_[{variant, one.task.devices}];
    const double cpu_ms = median(planned.cpu_ms);
    std::vector<std::string> row = {one.name, std::to_string(one.task.devices),
                                    variants_[variant].name, three_digits(before.cost.cost_ms)};
    if (!result.plan) {
      ++of.without_plan;
      row.insert(row.end(), {"none", "-", three_digits(cpu_ms), "-", "-", "-", "-"});
      list_.add_row(row);
      return;
    }
    of.time.push_back(cpu_ms / median(plain.cpu_ms));
    of.edits.push_back(ratio_of(result.stats.edits, before.stats.edits));
    of.head.push_back(ratio_of(result.stats.head_evaluations, before.stats.head_evaluations));
    of.comm.push_back(ratio_of(result.stats.comm_evaluations, before.stats.comm_evaluations));
    of.cost.push_back(result.cost.cost_ms / before.cost.cost_ms);
    row.insert(row.end(),
               {three_digits(result.cost.cost_ms), three_decimals(of.cost.back()),
                three_digits(cpu_ms), three_digits(of.time.back()), three_digits(of.edits.back()),
                three_digits(of.head.back()), three_digits(of.comm.back())});
    list_.add_row(row);
  }

  [[nodiscard]] std::string means() const {
    MarkdownTable all({"variant", "devices", "cases", "without plan", "cost", "least", "most",
                       "CPU time", "edits", "computing", "communication"});
    for (const auto& [key, of] : by_variant_) {
      const auto& [variant, devices] = key;
      if (of.time.empty()) continue;
      all.add_row({variants_[variant].name, std::to_string(devices), std::to_string(of.time.size()),
                   std::to_string(of.without_plan), three_decimals(geometric_mean(of.cost)),
                   three_decimals(std::ranges::min(of.cost)),
                   three_decimals(std::ranges::max(of.cost)), three_digits(geometric_mean(of.time)),
                   three_digits(geometric_mean(of.edits)), three_digits(geometric_mean(of.head)),
                   three_digits(geometric_mean(of.comm))});
    }
    return all.str();
  }
  [[nodiscard]] std::string list() const { return list_.str(); }

 private:
  const std::vector<Variant>& variants_;
  std::map<std::pair<std::size_t, int>, VariantRatios> by_variant_;
  MarkdownTable list_{{"case", "devices", "variant", "plain ms", "ms", "cost", "CPU ms", "CPU time",
                       "edits", "computing", "communication"}};
};

void run_constraints(const ConstraintsOptions& options, std::ostream& out) {
  const std::vector<Variant> variants = chosen_variants(options.variants);
  const Planner planner(builtin_weights(), {.effort = effort_from_name(options.effort),
                                            .cuts = cuts_from_name(options.cuts),
                                            .threads = 1});
  std::vector<PlanCase> cases = table_set_cases(options.cases);
  if (options.golden_tasks > 0) {
    std::vector<PlanCase> golden =
        golden_cases(GoldenFolder(options.golden), {}, options.golden_tasks);
    std::ranges::move(golden, std::back_inserter(cases));
  }
  VariantComparison comparison(variants);
  for (const PlanCase& one : cases) {
    Planned plain;
    run_round(planner, one.task, plain);
    if (!plain.result.plan) continue;
    std::vector<Task> tasks;
    std::vector<Planned> planned(variants.size());
    for (std::size_t v = 0; v < variants.size(); ++v) {
      tasks.push_back(one.task);
      Random random(one.task.tables.size(), v);
      variants[v].constrain(tasks.back(), plain.result.cost.cost_ms, random);
    }
    for (int round = 0; round < options.rounds; ++round) {
      if (round > 0) run_round(planner, one.task, plain);
      for (std::size_t v = 0; v < variants.size(); ++v) run_round(planner, tasks[v], planned[v]);
    }
    for (std::size_t v = 0; v < variants.size(); ++v) {
      comparison.add(one, plain, v, planned[v]);
    }
  }
  out << context_block(machine_context()) << '\n' << comparison.means();
  if (options.list) out << '\n' << comparison.list();
}

}  // namespace

void add_constraints_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<ConstraintsOptions>();
  CLI::App* command = program.add_subcommand(
      "constraints", "Cost of rules, groups, links and devices that differ to the search");
  command->footer(kConstraintsFooter);
  add_table_set_options(*command, options->cases);
  const command_line::OptionGroup general(*command);
  general.with_default("--data", options->golden, "Folder of the golden data");
  general
      .with_default("--golden-tasks", options->golden_tasks,
                    "Also plan this many tasks of each published set")
      ->check(CLI::Range(0, 100000));
  general.add("--variants", options->variants, "Variants, some of those below; default: all")
      ->delimiter(',');
  general.with_default("--effort", options->effort, "Effort of the search");
  general.with_default("--cuts", options->cuts, "Cuts of all plans");
  general
      .with_default("--rounds", options->rounds, "Rounds of each case, whose median time counts")
      ->check(CLI::Range(1, 1000));
  general.flag("--list", options->list, "Also print a line for each case");
  command_line::run_if_given(*command, chosen, options, run_constraints);
}

}  // namespace neuroshard::bench
