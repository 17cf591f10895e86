#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

#include "neuroshard/error.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/planner.h"
#include "tools/command_line/options.h"
#include "tools/commands.h"
#include "tools/console/report_output.h"
#include "tools/console/result_output.h"
#include "tools/options/model_options.h"
#include "tools/options/search_options.h"
#include "tools/options/task_options.h"
#include "tools/plan_pages/plan_report.h"
#include "tools/planning/batch_report.h"
#include "tools/planning/matched_plans.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kSimulateExamples = R"(Examples:
  neuroshard simulate --task my_model.json --plan plan.json
  neuroshard simulate --task my_model.json --plan plan.json --weights other_hardware.safetensors
  neuroshard simulate --task my_model.json --plan plan.json --cost-source analytic
  neuroshard simulate --tables table_configs.json --tasks tasks.txt --devices 4 --memory-gb 4 \
      --plan plans.jsonl --format jsonl

A plan file of several lines is matched to the tasks by its "task" numbers.
Exit codes: 0 every plan fits; 1 a plan exceeds the device memory, or the file says that a task has
none; 2 bad input or usage.)";

struct SimulateCommand {
  TaskOptions tasks;
  ModelOptions models;
  PlannerOptions planner;
  std::string cost_source = "models";
  std::string gpu;
  std::string network;
  std::string plan;
  std::string format = "table";
  std::string output;
  std::string report;
  std::string beside;
};

struct Simulated : MatchedPlan {
  Plan plan;
  PlanCost cost;
};

int simulate_one(const Simulated& simulated, OutputFormat format, const LoadedTasks& loaded,
                 const std::string& weights, std::optional<ComparedPlan> beside,
                 ResultOutput& output, ReportOutput& report) {
  const Task& task = loaded.tasks[simulated.task];
  const PlanDocument document{.task = task,
                              .plan = simulated.plan,
                              .cost = simulated.cost,
                              .task_name = loaded.titles[simulated.task],
                              .weights = weights,
                              .notes = loaded.notes};
  if (format == OutputFormat::kJsonl) {
    output.write(
        plan_to_json_line(loaded.indices[simulated.task], task, simulated.plan, simulated.cost) +
        '\n');
  } else {
    output.write(format == OutputFormat::kJson ? plan_to_json(document)
                                               : plan_page(document, output.style()));
  }
  output.finish();
  ReportContext context{.running = std::move(beside)};
  if (report.wanted()) context.bound = quick_bound_of(loaded.machine(), task, simulated.plan);
  report.write(document, context);
  return simulated.cost.fits_memory ? kExitOk : kExitInfeasible;
}

int simulate_many(const std::vector<Simulated>& all, OutputFormat format, const LoadedTasks& loaded,
                  const std::string& weights, ResultOutput& output) {
  BatchReport batch;
  bool all_fit = true;
  for (const Simulated& simulated : all) {
    const int index = loaded.indices[simulated.task];
    const Task& task = loaded.tasks[simulated.task];
    all_fit = all_fit && simulated.record->plan && simulated.cost.fits_memory;
    if (!simulated.record->plan) {
      batch.add_without_plan(index, task, std::string(kNoPlanInFile));
      continue;
    }
    batch.add(index, task, simulated.plan, simulated.cost);
    if (format == OutputFormat::kJsonl) {
      output.write(plan_to_json_line(index, task, simulated.plan, simulated.cost) + '\n');
    }
  }
  if (format == OutputFormat::kTable) {
    output.write(batch.page(loaded.read_ms, weights, loaded.notes, output.style()));
  }
  output.finish();
  return all_fit ? kExitOk : kExitInfeasible;
}

/// Where the costs of plans come from, and what to call it.
struct CostSource {
  std::function<PlanCost(const Task&, const Plan&)> cost;
  std::string name;
};

CostSource models_source(const SimulateCommand& command, const LoadedTasks& loaded) {
  const LoadedModels models = load_models(command.models, loaded.hardware);
  require_models_for(models, loaded);
  const auto planner = std::make_shared<Planner>(models.models, command.planner);
  return {[planner](const Task& task, const Plan& plan) { return planner->simulate(task, plan); },
          models.origin};
}

CostSource analytic_source(const SimulateCommand& command, const LoadedTasks& loaded) {
  if (!command.models.weights.empty() || !command.models.compute_model.empty()) {
    throw Error("--cost-source analytic takes no cost models; leave them out");
  }
  const Hardware machine = loaded.machine();
  const GpuSpec gpu = command.gpu.empty() ? machine.gpu : gpu_named(command.gpu);
  const NetworkSpec network =
      command.network.empty() ? machine.network : network_named(command.network);
  return {[gpu, network](const Task& task, const Plan& plan) {
            return analytic_plan_cost(gpu, network, task, plan);
          },
          analytic_origin(gpu, network)};
}

CostSource cost_source(const SimulateCommand& command, const LoadedTasks& loaded) {
  if (command.cost_source == "models") return models_source(command, loaded);
  if (command.cost_source == "analytic") return analytic_source(command, loaded);
  throw Error("--cost-source '" + command.cost_source + "' is not known; give models or analytic");
}

int run_simulate(const SimulateCommand& command, Console& console) {
  const OutputFormat format = output_format_from_name(command.format);
  const LoadedTasks loaded = load_tasks(command.tasks, command.models.hardware);
  const std::vector<PlanRecord> records = load_plans(command.plan);
  std::vector<Simulated> plans;
  for (const MatchedPlan& matched : match_plans(records, loaded, command.plan)) {
    plans.push_back({matched, {}, {}});
  }
  const bool one = loaded.tasks.size() == 1;
  require_one_plan(command.report, command.beside, one);
  if (!one && format == OutputFormat::kJson) {
    throw Error("--format json holds one plan, and there are " + std::to_string(plans.size()) +
                "; pick one with --index, or use jsonl");
  }
  const CostSource source = cost_source(command, loaded);
  for (Simulated& simulated : plans) {
    if (!simulated.record->plan && !one) continue;  // A line that says that there is no plan.
    if (loaded.errors[simulated.task]) throw Error(*loaded.errors[simulated.task]);
    const Task& task = loaded.tasks[simulated.task];
    simulated.plan = plan_for(*simulated.record, task);
    simulated.cost = source.cost(task, simulated.plan);
  }
  ResultOutput output(console, command.output);
  ReportOutput report(console, command.report);
  if (one) {
    const Task& task = loaded.tasks[plans[0].task];
    std::optional<ComparedPlan> beside;
    if (const std::optional<Plan> plan = plan_beside(command.beside, task)) {
      beside = {command.beside, task, *plan, source.cost(task, *plan)};
    }
    return simulate_one(plans[0], format, loaded, source.name, std::move(beside), output, report);
  }
  return simulate_many(plans, format, loaded, source.name, output);
}

}  // namespace

void add_simulate_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<SimulateCommand>();
  CLI::App* command =
      program.add_subcommand("simulate", "Predict the cost of a plan, device by device");
  command->footer(kSimulateExamples);
  add_task_options(*command, options->tasks);
  add_plan_option(*command, options->plan);
  add_model_options(*command, options->models);
  add_backend_options(*command, options->planner);
  const command_line::OptionGroup judge(*command, "Cost source");
  judge.with_default("--cost-source", options->cost_source,
                     "models: the cost models; analytic: the datasheet models that they can be "
                     "trained on");
  judge.add("--gpu", "NAME", options->gpu,
            "GPU datasheet of the analytic source (default: that of --hardware)");
  judge.add("--network", "NAME", options->network,
            "Network datasheet of the analytic source (default: that of --hardware)");
  add_output_options(*command, options->format, options->output);
  add_report_option(*command, options->report);
  add_beside_option(*command, options->beside);
  command_line::run_if_given(*command, chosen, options, run_simulate);
}

}  // namespace neuroshard::tools
