#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/inputs/plan_cases.h"
#include "bench/machine/machine_context.h"
#include "bench/markdown_table.h"
#include "core/placement/forwarding_backend.h"
#include "neuroshard/simulator.h"
#include "neuroshard/weights.h"
#include "search/search_driver.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kIdsFooter =
    R"(Plans by columns of a search that counts the all-to-all of ids, beside those of the same search if
ids cost nothing. Both are judged by analytic costs with ids (docs/analytic_costs.md: one A100 a device).

Examples:
  nsbench ids
  nsbench ids --sets criteo_kaggle --devices 8,64)";

struct IdsOptions {
  TableSetOptions cases{.names = {"mlperf_dlrm_v2_criteo1tb_multihot"}, .devices = {64}};
  std::string effort = "default";
};

/// Does what another backend does, but says that the models do not price ids.
class WithoutIds : public ForwardingBackend {
 public:
  explicit WithoutIds(const Backend& inner) : ForwardingBackend(inner, traits(inner)) {}

 private:
  static Traits traits(const Backend& inner) {
    Traits traits = traits_of(inner);
    traits.prices_ids = false;
    return traits;
  }
};

std::optional<Plan> plan_by_columns(const Backend& backend, const PlannerOptions& options,
                                    const Task& task) {
  const PlanRequest request;
  SearchDriver driver(backend, options, request);
  PlanOutcome outcome;
  const SearchDriver::Job job{task, outcome};
  driver.add({&job, 1});
  while (driver.in_flight() > 0) driver.advance();
  return std::move(outcome).value().plan;
}

void add_row(MarkdownTable& table, const Backend& backend, const PlanCase& one, const char* search,
             const Plan& plan) {
  const PlanCost cost =
      analytic_plan_cost(gpu_named(kDefaultGpu), network_named(kDefaultNetwork), one.task, plan);
  double ids_ms = 0.0;
  double most_lookups = 0.0;
  for (const DeviceCost& device : cost.devices) {
    ids_ms = std::max(ids_ms, device.ids_ms);
    most_lookups = std::max(most_lookups, device.lookups);
  }
  int narrowest = std::numeric_limits<int>::max();
  for (const TableSlice& slice : plan.slices) narrowest = std::min(narrowest, slice.dim);
  table.add_row({one.name, std::to_string(one.task.devices), search, three_digits(cost.cost_ms),
                 three_digits(simulate(backend, one.task, plan).cost_ms), three_digits(ids_ms),
                 three_digits(most_lookups), std::to_string(plan.slices.size()),
                 std::to_string(narrowest)});
}

void run_ids(const IdsOptions& options, std::ostream& out) {
  const auto backend = make_cpu_backend(builtin_weights());
  const WithoutIds without_ids(*backend);
  const PlannerOptions with{.effort = effort_from_name(options.effort)};
  MarkdownTable table({"case", "devices", "the search counts ids", "analytic ms", "predicted ms",
                       "of the analytic ids", "most lookups", "slices", "narrowest slice"});
  for (const PlanCase& one : table_set_cases(options.cases.folder, options.cases.names,
                                             options.cases.devices, options.cases.memory_gib)) {
    const std::optional<Plan> counted = plan_by_columns(*backend, with, one.task);
    const std::optional<Plan> free = plan_by_columns(without_ids, with, one.task);
    if (!counted || !free) continue;
    add_row(table, *backend, one, "yes", *counted);
    add_row(table, *backend, one, "no", *free);
  }
  out << context_block(machine_context()) << '\n' << table.str();
}

}  // namespace

void add_ids_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<IdsOptions>();
  CLI::App* command = program.add_subcommand("ids", "What counting ids changes in plans");
  command->footer(kIdsFooter);
  add_table_set_options(*command, options->cases);
  command->add_option("--effort", options->effort, "Effort")->capture_default_str();
  command->callback(
      [options, &chosen] { chosen = [options](std::ostream& out) { run_ids(*options, out); }; });
}

}  // namespace neuroshard::bench
