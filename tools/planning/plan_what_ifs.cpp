#include <algorithm>
#include <optional>
#include <span>

#include "neuroshard/error.h"
#include "neuroshard/task_models.h"
#include "neuroshard/what_if.h"
#include "tools/options/host_memory_option.h"
#include "tools/planning/batch_end.h"
#include "tools/planning/plan_command.h"
#include "tools/planning/variants_report.h"

namespace neuroshard::tools {
namespace {

// All combinations of devices, memory and host memory.
std::vector<TaskVariant> variants_of(const TaskOptions& options, const Task& task) {
  std::vector<int> devices = options.devices;
  if (devices.empty()) devices = {task.devices};
  std::vector<std::int64_t> sizes;
  for (const double gib : options.memory_gb) sizes.push_back(memory_of_option(gib));
  if (sizes.empty()) sizes = {task.memory_bytes};
  std::vector<std::optional<std::int64_t>> hosts;
  const std::vector<std::int64_t> host_bytes = host_sizes(options.host_memory);
  if (host_bytes.size() > 1) hosts.assign(host_bytes.begin(), host_bytes.end());
  if (hosts.empty()) hosts = {std::nullopt};
  std::vector<TaskVariant> variants;
  for (const std::optional<std::int64_t> host : hosts) {
    for (const std::int64_t memory_bytes : sizes) {
      for (const int count : devices) {
        const bool as_listed =
            options.memory_gb.empty() && count == task.devices && !task.device_list.empty();
        variants.push_back({count, as_listed ? std::nullopt : std::optional(memory_bytes), host});
      }
    }
  }
  return variants;
}

void require_what_if_options(const PlanCommand& command, std::span<const TaskVariant> variants) {
  if (command.alternatives || command.list_shards || command.resume) {
    throw Error(
        "--alternatives, --list-shards and --resume belong to one number of devices and "
        "one size of each memory; leave them out, or give one of each");
  }
  for (const TaskVariant& variant : variants) {
    if (variant.devices >= 1) continue;
    throw Error("--devices: " + std::to_string(variant.devices) +
                " devices are none; give numbers from 1 to " + std::to_string(kMaxDevices));
  }
}

/// [variants]: why it cannot be planned at all. Throws Error if none of them can be: then something
/// else is wrong.
std::vector<std::optional<Error>> errors_of(std::span<const TaskVariant> variants,
                                            const LoadedTasks& loaded, const LoadedModels& models) {
  const Task& task = loaded.tasks[0];
  std::vector<std::optional<Error>> errors;
  for (const TaskVariant& variant : variants) {
    std::optional<Error>& error = errors.emplace_back();
    try {
      const Task changed = task_with(task, variant);
      validate(changed);
      require_comm_model(models, variant.devices);
      require_batch(models.models, changed.batch_size);
    } catch (const Error& invalid) {
      error = invalid;
    }
  }
  if (std::ranges::all_of(errors, [](const auto& error) { return error.has_value(); })) {
    throw Error(loaded.where[0] + ": with " + variant_text(variants.front()) + ": " +
                    errors.front()->what(),
                errors.front()->kind());
  }
  return errors;
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

/// Plans the variants that have no error; each error is the outcome of its variant.
std::vector<PlanOutcome> plan_valid(const PlanCommand& command, const Planner& planner,
                                    const Task& task, std::span<const TaskVariant> variants,
                                    std::vector<std::optional<Error>> errors) {
  std::vector<TaskVariant> valid;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (!errors[i]) valid.push_back(variants[i]);
  }
  std::vector<PlanOutcome> planned = plan_all(command, planner, task, valid);
  std::vector<PlanOutcome> outcomes;
  outcomes.reserve(errors.size());
  std::size_t next = 0;
  for (std::optional<Error>& error : errors) {
    outcomes.push_back(error ? PlanOutcome(*std::move(error)) : std::move(planned[next++]));
  }
  return outcomes;
}

}  // namespace

int plan_what_ifs(const PlanCommand& command, OutputFormat format, const LoadedTasks& loaded,
                  const LoadedModels& models, const Planner& planner, Console& console) {
  const Task& task = loaded.tasks[0];
  const std::vector<TaskVariant> variants = variants_of(command.tasks, task);
  require_what_if_options(command, variants);
  std::vector<std::optional<Error>> errors = errors_of(variants, loaded, models);
  ResultOutput output(console, command.output);
  std::optional<ResultOutput> chart = optional_output(console, command.svg);
  const VariantsReport report{
      .task = task,
      .title = loaded.titles[0],
      .weights = models.origin,
      .notes = loaded.notes,
      .read_ms = loaded.read_ms,
      .variants = variants,
      .outcomes = plan_valid(command, planner, task, variants, std::move(errors))};
  BatchEnd end("variant");
  for (std::size_t i = 0; i < variants.size(); ++i) {
    end.count(report.outcomes[i], "with " + variant_text(variants[i]) + ": ");
  }
  output.finish(variants_text(report, format, output.style()));
  if (chart) chart->finish(variants_chart(report));
  return end.report(variants.size(), console);
}

}  // namespace neuroshard::tools
