#include <span>

#include "neuroshard/error.h"
#include "neuroshard/what_if.h"
#include "tools/planning/batch_end.h"
#include "tools/planning/plan_command.h"
#include "tools/planning/variants_report.h"

namespace neuroshard::tools {
namespace {

// All combinations of devices and memory.
std::vector<TaskVariant> variants_of(const TaskOptions& options, const Task& task) {
  std::vector<int> devices = options.devices;
  if (devices.empty()) devices = {task.devices};
  std::vector<std::int64_t> sizes;
  for (const double gib : options.memory_gb) sizes.push_back(bytes_from_gib(gib));
  if (sizes.empty()) sizes = {task.memory_bytes};
  std::vector<TaskVariant> variants;
  for (const std::int64_t memory_bytes : sizes) {
    for (const int count : devices) variants.push_back({count, memory_bytes});
  }
  return variants;
}

void require_valid_variants(const PlanCommand& command, std::span<const TaskVariant> variants,
                            const Task& task, const LoadedModels& models) {
  if (command.alternatives || command.list_shards || command.resume) {
    throw Error(
        "--alternatives, --list-shards and --resume belong to one number of devices and "
        "one size of memory; leave them out, or give one of each");
  }
  for (const TaskVariant& variant : variants) {
    validate(task_with(task, variant));
    require_comm_model(models, variant.devices);
  }
}

// A deadline is one of each variant, so that they cannot be planned together.
std::vector<PlanOutcome> plan_all(const PlanCommand& command, const Planner& planner,
                                  const Task& task, std::span<const TaskVariant> variants) {
  if (!command.deadline_ms) return plan_variants(planner, task, variants);
  std::vector<PlanOutcome> outcomes;
  for (const TaskVariant& variant : variants) {
    outcomes.push_back(
        std::move(plan_variants(planner, task, {&variant, 1}, request_of(command)).front()));
  }
  return outcomes;
}

}  // namespace

int plan_what_ifs(const PlanCommand& command, OutputFormat format, const LoadedTasks& loaded,
                  const LoadedModels& models, const Planner& planner, Console& console) {
  const Task& task = loaded.tasks[0];
  const std::vector<TaskVariant> variants = variants_of(command.tasks, task);
  require_valid_variants(command, variants, task, models);
  ResultOutput output(console, command.output);
  std::optional<ResultOutput> chart;
  if (!command.svg.empty()) chart.emplace(console, command.svg);
  const VariantsReport report{.task = task,
                              .title = loaded.titles[0],
                              .weights = models.origin,
                              .notes = loaded.notes,
                              .read_ms = loaded.read_ms,
                              .variants = variants,
                              .outcomes = plan_all(command, planner, task, variants)};
  BatchEnd end;
  for (const PlanOutcome& outcome : report.outcomes) end.count(outcome);
  switch (format) {
    case OutputFormat::kTable:
      output.write(variants_page(report, output.style()));
      break;
    case OutputFormat::kJson:
      output.write(variants_json(report));
      break;
    case OutputFormat::kJsonl:
      output.write(variants_json_lines(report));
      break;
  }
  output.finish();
  if (chart) {
    chart->write(variants_chart(report));
    chart->finish();
  }
  return end.report(variants.size(), console);
}

}  // namespace neuroshard::tools
