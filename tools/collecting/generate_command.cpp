#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/message_text.h"
#include "neuroshard/error.h"
#include "neuroshard/table_configs.h"
#include "neuroshard/task_file.h"
#include "tools/collecting/generated_tables.h"
#include "tools/collecting/statistics_page.h"
#include "tools/command_line/options.h"
#include "tools/commands.h"
#include "weights/collection/task_draws.h"
#include "weights/files/atomic_file.h"
#include "weights/lookups/wide_population.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kGenerateExamples = R"(Examples:
  neuroshard generate --output tables                   856 tables like the published ones
  neuroshard generate --streams --output tables         ... and a batch of lookups in each
  neuroshard generate --batches 100 --drift 0.001 --output log
                                                        ... by Zipf's law in 100 batches
  neuroshard generate --wide --count 2000 --output wide tables of every kind: 3 to 500 million rows
  neuroshard generate --tasks 100 --table-configs tables/table_configs.json --devices 4 \
      --output tasks.txt                                sharding tasks of these tables

How the tables follow the published statistics: docs/collecting.md.)";

struct GenerateCommand {
  PopulationOptions population;
  std::optional<int> tasks;
  std::string table_configs;
  TaskDrawOptions task;
  std::optional<double> memory_gb;
  bool wide = false;
  bool streams = false;
  std::optional<std::int64_t> batches;
  std::optional<double> zipf_exponent;
  std::optional<double> drift;
  std::uint64_t seed = 0;
  std::string output;
};

int generate_tasks(const GenerateCommand& command, Console& console) {
  if (command.table_configs.empty()) {
    throw Error("--tasks draws from a list of tables; give it with --table-configs");
  }
  if (command.streams || command.batches) {
    throw Error(
        "--streams and --batches belong to generated tables, not to --tasks; leave them out");
  }
  if (*command.tasks < 1)
    throw Error("--tasks is " + std::to_string(*command.tasks) + "; give at least 1");
  TaskDrawOptions options = command.task;
  // 15 of every 16 GiB, as the published tasks for 4 devices of 4 GiB have it.
  options.memory_bytes = bytes_from_gib(command.memory_gb.value_or(3.75 * options.devices));
  const TableConfigs configs = load_table_configs(command.table_configs);
  std::string text;
  for (int i = 0; i < *command.tasks; ++i) {
    Random random(command.seed, static_cast<std::uint64_t>(i));
    text += draw_task_line(configs.tables, options, random) + '\n';
  }
  write_file(command.output, text);
  console.out << printable(command.output) << ": "
              << counted(static_cast<std::uint64_t>(*command.tasks), "task") << " for "
              << counted(static_cast<std::uint64_t>(options.devices), "device") << '\n';
  return kExitOk;
}

int generate_wide_tables(const GenerateCommand& command, Console& console) {
  if (command.streams || command.batches || command.population.row_scale != 1.0) {
    throw Error(
        "--streams, --batches and --row-scale belong to tables like the published ones, not to "
        "--wide; leave them out");
  }
  const std::vector<Table> tables =
      draw_wide_population({command.population.tables, command.population.batch, command.seed});
  create_folder(command.output);
  write_file(std::filesystem::path(command.output) / "table_configs.json",
             serialize_table_configs(tables, false, command.population.batch));
  console.out << printable(command.output) << ": " << counted(tables.size(), "table")
              << " of every kind\n";
  return kExitOk;
}

int generate_log(const GenerateCommand& command, const PopulationOptions& population,
                 Console& console) {
  const GeneratedLog log{.batches = *command.batches,
                         .zipf_exponent = command.zipf_exponent.value_or(kDefaultZipfExponent),
                         .drift = command.drift.value_or(0.0)};
  const std::int64_t lookups = write_generated_log(command.output, population, log, console);
  console.out << printable(command.output) << ": "
              << counted(static_cast<std::uint64_t>(population.tables), "table") << ", "
              << format_count(static_cast<std::uint64_t>(log.batches)) << " batches of "
              << format_count(static_cast<std::uint64_t>(population.batch)) << " samples, "
              << counted(static_cast<std::uint64_t>(lookups), "lookup") << '\n';
  return kExitOk;
}

int generate_tables(const GenerateCommand& command, Console& console) {
  if (!command.table_configs.empty()) throw Error("--table-configs belongs to --tasks; give both");
  if (!command.batches && (command.zipf_exponent || command.drift)) {
    throw Error("--zipf and --drift say what batches look up; give their number with --batches");
  }
  if (command.wide) return generate_wide_tables(command, console);
  PopulationOptions population = command.population;
  population.seed = command.seed;
  if (command.batches) return generate_log(command, population, console);
  const TableStatistics statistics =
      write_generated_tables(command.output, population, command.streams, console);
  console.out << statistics_page(statistics, console.out_style);
  return kExitOk;
}

int generate(const GenerateCommand& command, Console& console) {
  return (command.tasks ? generate_tasks : generate_tables)(command, console);
}

}  // namespace

void add_generate_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<GenerateCommand>();
  CLI::App* command = program.add_subcommand(
      "generate", "Make synthetic tables, lookups and tasks that follow published statistics");
  command->footer(kGenerateExamples);
  const command_line::OptionGroup general(*command);
  general
      .add("--output", "PATH", options->output,
           "Folder to write tables to, or file to write tasks to")
      ->required();
  general.with_default("--seed", options->seed, "Same seed, same output");

  const command_line::OptionGroup tables(*command, "Tables");
  tables.with_default("--count", options->population.tables, "Number of tables");
  tables.with_default("--batch", options->population.batch, "Samples of the batch of lookups");
  tables.with_default("--row-scale", options->population.row_scale,
                      "Factor of all row counts, for small machines");
  tables.flag("--wide", options->wide,
              "Tables of every kind instead: 3 to 500 million rows, accesses from even to skewed");
  tables.flag("--streams", options->streams,
              "Also write the lookups, indices.npy and lengths.npy (8 bytes a lookup)");
  tables.add("--batches", "N", options->batches,
             "Write the lookups of this many batches, by Zipf's law, for popularity and caches");
  tables.add("--zipf", "EXPONENT", options->zipf_exponent,
             "Exponent of the law; default: " + shortest_text(kDefaultZipfExponent));
  tables.add("--drift", "SHARE", options->drift,
             "Share of the ranks that get another row from batch to batch; default: 0");

  const command_line::OptionGroup tasks(*command, "Tasks");
  tasks.add("--tasks", "N", options->tasks, "Draw this many tasks instead");
  tasks.add("--table-configs", "FILE", options->table_configs, "Tables to draw from");
  tasks.with_default("--devices", options->task.devices, "Devices the tasks are meant for");
  tasks.with_default("--max-dim", options->task.max_dim, "Largest dim; the others are its halves");
  tasks.with_default("--min-tables-per-device", options->task.min_tables_per_device,
                     "A task has at least this many tables per device");
  tasks.with_default("--max-tables-per-device", options->task.max_tables_per_device,
                     "A task has fewer tables per device than this");
  tasks.add("--memory-gb", options->memory_gb,
            "Most GiB of a task's weights; default: 3.75 a device");
  command_line::run_if_given(*command, chosen, options, generate);
}

}  // namespace neuroshard::tools
