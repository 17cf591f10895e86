#include "tools/options/memory_options.h"

#include <CLI/CLI.hpp>

#include "core/base/enum_names.h"
#include "core/base/message_text.h"
#include "core/tables/reserved_problem.h"
#include "neuroshard/error.h"
#include "neuroshard/task_models.h"
#include "tools/command_line/options.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kWeightType = "--weight-type";
constexpr const char* kOptimizer = "--optimizer";
constexpr const char* kBatchSize = "--batch-size";
constexpr const char* kReservedGb = "--reserved-gb";
constexpr const char* kReservedShare = "--reserved-share";

template <typename Function>
auto of_option(const char* option, const Function& function) {
  try {
    return function();
  } catch (const Error& error) {
    throw Error(std::string(option) + ": " + error.what());
  }
}

}  // namespace

void MemoryOptions::require_ranges() const {
  if (batch_size && (*batch_size < 1 || *batch_size > kMaxBatchSize)) {
    throw Error(kBatchSize + (" is " + std::to_string(*batch_size)) +
                "; give the samples of an iteration; costs can be predicted for " +
                format_count(kMinPricedBatch) + " to " + format_count(kMaxPricedBatch));
  }
  if (!reserved_share) return;
  if (const std::optional<std::string> problem = reserved_share_problem_of(*reserved_share)) {
    throw Error(kReservedShare + *problem);
  }
}

void MemoryOptions::apply(Task& task) const {
  for (Table& table : task.tables) {
    TableMemory& memory = table.memory;
    if (weight_type) {
      memory.weight_type =
          of_option(kWeightType, [&] { return weight_type_from_name(*weight_type); });
    }
    if (optimizer) {
      memory.optimizer = of_option(kOptimizer, [&] { return optimizer_from_name(*optimizer); });
    }
    if (batch_size) memory.batch_size = *batch_size;
  }
  if (batch_size) task.batch_size = *batch_size;
  if (reserved_gb) {
    task.reserved.bytes = of_option(
        kReservedGb, [&] { return *reserved_gb == 0.0 ? 0 : bytes_from_gib(*reserved_gb); });
  }
  if (reserved_share) task.reserved.share = *reserved_share;
  if (!reserved_gb && !reserved_share) return;
  if (const std::optional<std::string> problem = reserved_problem_of(task)) {
    throw Error(std::string(reserved_gb ? kReservedGb : kReservedShare) + ": " + *problem);
  }
}

void add_memory_options(CLI::App& command, MemoryOptions& options) {
  const command_line::OptionGroup memory(command, "Memory");
  memory.add(
      kWeightType, "NAME", options.weight_type,
      "Weights of all tables, in place of the task file's: " + listed_names(all_weight_types()));
  memory.add(
      kOptimizer, "NAME", options.optimizer,
      "Optimizer of all tables, in place of the task file's: " + listed_names(all_optimizers()));
  memory.add(
      kBatchSize, "N", options.batch_size,
      "Samples of an iteration, on all devices together. Costs are for this many, and their ids "
      "and pooled outputs take memory");
  memory.add(kReservedGb, "G", options.reserved_gb, "GiB of each device that tables may not take");
  memory.add(kReservedShare, "X", options.reserved_share,
             "Share of each device that tables may not take, e.g. 0.15");
}

}  // namespace neuroshard::tools
