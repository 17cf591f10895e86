#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "neuroshard/device_groups.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/planner.h"
#include "neuroshard/what_if.h"
#include "tools/command_line/options.h"
#include "tools/commands.h"
#include "tools/console/report_output.h"
#include "tools/console/result_output.h"
#include "tools/options/model_options.h"
#include "tools/options/search_options.h"
#include "tools/options/task_options.h"
#include "tools/plan_pages/moves_report.h"
#include "tools/plan_pages/plan_report.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kReplanExamples = R"(Examples:
  neuroshard replan --task my_model.json --devices 126 --running-task my_model.json \
      --running-plan plan.json --lost-devices 17,80
  neuroshard replan --task new.json --running-task old.json --running-plan plan.json \
      --move-budget-gb 20 --format json --output new_plan.json
  neuroshard replan --task new.json --running-task old.json --running-plan plan.json \
      --ms-per-moved-gb 0.001
  neuroshard replan --task new.json --running-task old.json --running-plan plan.json \
      --carry-over --format json --output new_plan.json

A table keeps what devices hold of it if its name and dim stay. Remaining devices keep their order
and become 0, 1, ...; the task may have more. Without budget and price, 1.2 times what has to be
moved for tables to stay sharded as they run may be moved. If it saves 1 % of the cost, 2 % of what
tables take on all devices (--small-moves-share) may be moved beyond that, or 16 MiB for each device
(--small-moves-gb) if that is more. With --carry-over, the rest of the budget is kept in the plan's
file for the next change, and the rest in the running plan's file may be moved, too.
Exit codes: 0 there is a plan; 1 there is none, and the reason is given; 2 bad input or usage.)";

struct ReplanCommand {
  TaskOptions task;
  std::string running_task;
  std::string running_plan;
  std::vector<int> lost_devices;
  std::string regrouped;
  std::optional<double> move_budget_gb;
  std::optional<double> ms_per_moved_gb;
  bool carry_over = false;
  double small_moves_share = ReplanRequest{}.small_moves_share;
  double small_moves_gb = gib_from_bytes(ReplanRequest{}.small_moves_bytes);
  ModelOptions models;
  SearchChoice search;
  std::string format = "table";
  std::string output;
  std::string report;
};

/// The running plan, and what its file says was left of its budget.
struct LoadedRunning {
  RunningPlan running;
  std::int64_t unspent_bytes = 0;
};

LoadedRunning load_running(const ReplanCommand& command, const Task& next) {
  const std::vector<PlanRecord> records = load_plans(command.running_plan);
  if (records.size() != 1) {
    throw Error("--running-plan: " + command.running_plan + " has " +
                std::to_string(records.size()) + " plans; give a file of one");
  }
  TaskOptions running_task;
  running_task.task = command.running_task;
  if (records[0].plan) {
    running_task.devices_if_missing = static_cast<int>(records[0].shards().size());
  }
  running_task.memory_bytes_if_missing = memory_bytes(next, 0);
  running_task.memory = command.task.memory;
  running_task.devices_per_node = command.task.devices_per_node;
  running_task.links = command.task.links;
  running_task.exchange = command.task.exchange;
  running_task.overlap = command.task.overlap;
  running_task.host_memory = command.task.host_memory;
  const LoadedTasks loaded = load_tasks(running_task, command.models.hardware);
  // The plan's devices are those that run, whatever the task file's number is.
  Task task = only_task(loaded, "replan");
  if (records[0].plan) {
    const int devices = static_cast<int>(records[0].shards().size());
    if (devices != task.devices) {
      std::int64_t most = 0;
      for (std::size_t d = 0; d < static_cast<std::size_t>(task.devices); ++d) {
        most = std::max(most, memory_bytes(task, d));
      }
      task = task_with(task, {devices, most});
      // They may name other devices, and nothing is planned here.
      for (Table& table : task.tables) table.rules = {};
      task.groups.clear();
    }
  }
  RunningPlan running{task, plan_for(records[0], task), command.lost_devices};
  if (!command.regrouped.empty()) {
    running.regrouped = group_layout_from_name(command.regrouped);
    // Each device has as many samples as before.
    running.task.batch_size = next.batch_size * task.devices / next.devices;
  }
  return {std::move(running), records[0].unspent_bytes};
}

std::int64_t bytes_of_option(const char* option, double gib) {
  if (!(gib >= 0.0 && gib < 0x1p33)) {
    throw Error(std::string(option) + " is no size; give GiB, 0 or more");
  }
  return gib > 0.0 ? bytes_from_gib(gib) : 0;
}

ReplanRequest request_of(const ReplanCommand& command) {
  if (command.move_budget_gb && command.ms_per_moved_gb) {
    throw Error("--move-budget-gb and --ms-per-moved-gb exclude each other; give one of them");
  }
  if (command.carry_over && command.ms_per_moved_gb) {
    throw Error("--carry-over and --ms-per-moved-gb exclude each other; give one of them");
  }
  ReplanRequest request;
  if (command.move_budget_gb) {
    request.most_moved_bytes = bytes_of_option("--move-budget-gb", *command.move_budget_gb);
  }
  request.small_moves_share = command.small_moves_share;
  request.small_moves_bytes = bytes_of_option("--small-moves-gb", command.small_moves_gb);
  request.ms_per_moved_gib = command.ms_per_moved_gb.value_or(0.0);
  return request;
}

int run_replan(const ReplanCommand& command, Console& console) {
  const OutputFormat format = output_format_from_name(command.format);
  if (format == OutputFormat::kJsonl) {
    throw Error("--format jsonl is for many tasks; replan takes one: use table or json");
  }
  ReplanRequest request = request_of(command);
  const PlannerOptions planner_options = command.search.options();
  const LoadedTasks loaded = load_tasks(command.task, command.models.hardware);
  const Task& task = only_task(loaded, "replan");
  const auto [running, unspent_bytes] = load_running(command, task);
  if (command.carry_over) request.unspent_bytes = unspent_bytes;
  const LoadedModels models = load_models(command.models, loaded.hardware);
  require_comm_model(models, task.devices);
  require_comm_model(models, running.task.devices);
  ResultOutput output(console, command.output);
  ReportOutput report(console, command.report);
  const Planner planner(models.models, planner_options);
  const ReplanResult replanned = planner.replan(task, running, request);
  const PlanResult& result = replanned.result;
  if (!result.plan) {
    say_no_plan(loaded.titles[0], result.infeasible->message, console);
    const NoPlanDocument document{.task = task,
                                  .infeasible = *result.infeasible,
                                  .task_name = loaded.titles[0],
                                  .weights = models.origin,
                                  .notes = loaded.notes};
    if (format == OutputFormat::kJson) output.finish(plan_to_json(document));
    report.write(document);
    return kExitInfeasible;
  }
  std::vector<std::string> notes = loaded.notes;
  const std::size_t kept =
      static_cast<std::size_t>(running.task.devices) - running.lost_devices.size();
  if (!running.lost_devices.empty() && kept < static_cast<std::size_t>(task.devices)) {
    notes.push_back("devices from " + std::to_string(kept) +
                    " on are new; those before are the ones that are left, in their order");
  }
  const PlanDocument document{.task = task,
                              .plan = *result.plan,
                              .cost = result.cost,
                              .stats = result.stats,
                              .task_name = loaded.titles[0],
                              .weights = models.origin,
                              .notes = std::move(notes),
                              .complete = result.complete,
                              .moves = plan_moves(replanned),
                              .read_ms = loaded.read_ms};
  output.finish(format == OutputFormat::kJson
                    ? plan_to_json(document)
                    : plan_page(document, output.style()) + '\n' + moves_page(document));
  ReportContext context;
  if (report.wanted()) {
    context.bound = quick_bound_of(loaded.machine(), task, *result.plan);
    context.running = {"the running plan", running.task, running.plan, replanned.running_cost};
  }
  report.write(document, context);
  return kExitOk;
}

}  // namespace

void add_replan_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<ReplanCommand>();
  CLI::App* command =
      program.add_subcommand("replan", "Find a plan near to the one that runs, after a change");
  command->footer(kReplanExamples);
  add_task_options(*command, options->task);
  const command_line::OptionGroup running(*command, "Running job");
  running.add("--running-task", "FILE", options->running_task, "Task file of the running plan")
      ->required();
  running
      .add("--running-plan", "FILE", options->running_plan,
           "The running plan, as written by plan --format json")
      ->required();
  running
      .add("--lost-devices", "N,...", options->lost_devices,
           "Devices of the running plan that are no longer there")
      ->delimiter(',');
  running.add("--regrouped", "LAYOUT", options->regrouped,
              "Running groups of devices, laid out so, become groups of the task's devices: "
              "consecutive or interleaved (docs/device_groups.md)");
  running.add("--move-budget-gb", "GIB", options->move_budget_gb,
              "GiB that may be moved, including those that must be");
  running.add("--ms-per-moved-gb", "MS", options->ms_per_moved_gb,
              "Gain per iteration that is worth a moved GiB, in place of a budget");
  running.flag("--carry-over", options->carry_over,
               "Also spend the budget that the running plan's file has left, and save what gains "
               "little for the next change");
  running
      .with_default("--small-moves-share", "SHARE", options->small_moves_share,
                    "Without budget and price: share of the tables' memory on all devices that may "
                    "be moved beyond what must be, if that saves 1 % of the cost")
      ->check(CLI::Range(0.0, 1.0));
  running.with_default(
      "--small-moves-gb", "GIB", options->small_moves_gb,
      "GiB per device that may be moved in this way, if that is more than the share; "
      "with both 0, nothing is");
  add_model_options(*command, options->models);
  add_effort_option(*command, options->search);
  add_cut_options(*command, options->search);
  add_backend_options(*command, options->search.planner);
  add_output_options(*command, options->format, options->output);
  add_report_option(*command, options->report);
  command_line::run_if_given(*command, chosen, options, run_replan);
}

}  // namespace neuroshard::tools
