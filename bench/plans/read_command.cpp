#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <tuple>

#include "bench/commands.h"
#include "bench/machine/machine_context.h"
#include "bench/markdown_table.h"
#include "bench/statistics.h"
#include "bench/stopwatch.h"
#include "core/base/random.h"
#include "neuroshard/error.h"
#include "neuroshard/task_file.h"
#include "tools/command_line/options.h"
#include "weights/files/read_file.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kReadFooter =
    R"(Measures how long it takes to read task files that give no access histograms: to parse
them, and to derive the histograms (docs/zipf_histogram.md). Tables that are equal in rows,
pooling factor and exponent are derived once. Drawn tasks, whose tables all differ, are read
beside the files. Times are CPU times, which other programs on the machine change least, and
medians of the rounds.

Example:
  nsbench read --tables 100,1000)";

struct ReadOptions {
  std::string data = "bench/data/table_sets";
  std::vector<int> tables = {100, 1000};
  int rounds = 15;
};

struct ReadCase {
  std::string name;
  std::string json;
};

/// Tables of 10 to 100 million rows, half of them with one lookup a sample, the others with up to
/// 100.
std::string drawn_task_text(int tables) {
  Random random(1, static_cast<std::uint64_t>(tables));
  nlohmann::json task = {{"format", "neuroshard.task"}, {"version", 1}};
  nlohmann::json& list = task["tables"] = nlohmann::json::array();
  for (int i = 0; i < tables; ++i) {
    const double pooling = random.uniform() < 0.5 ? 1.0 : random.log_uniform(1.0, 100.0);
    list.push_back({{"row", std::llround(random.log_uniform(10.0, 1e8)) + i},
                    {"dim", 64},
                    {"pooling_factor", pooling}});
  }
  return task.dump();
}

std::vector<ReadCase> read_cases(const ReadOptions& options) {
  std::vector<ReadCase> cases;
  for (const auto& entry : std::filesystem::directory_iterator(options.data)) {
    if (entry.path().extension() != ".json") continue;
    cases.push_back({entry.path().stem().string(), read_file(entry.path())});
  }
  std::ranges::sort(cases, {}, &ReadCase::name);
  for (const int tables : options.tables) {
    cases.push_back({"drawn, " + with_separators(tables), drawn_task_text(tables)});
  }
  return cases;
}

void run_read(const ReadOptions& options, std::ostream& out) {
  out << context_block(machine_context()) << '\n';
  MarkdownTable table({"task", "tables", "derived", "different", "ms", "us a different table"});
  for (const auto& [name, json] : read_cases(options)) {
    const TaskFile task = parse_task(json, name);
    std::set<std::tuple<std::int64_t, double, std::array<double, kHistogramBins>>> different;
    for (const int index : task.derived_histograms) {
      const Table& one = task.tables[static_cast<std::size_t>(index)];
      different.emplace(one.rows, one.pooling_factor, one.access_histogram);
    }
    std::vector<double> ms;
    for (int round = 0; round < options.rounds; ++round) {
      const Stopwatch stopwatch;
      const TaskFile again = parse_task(json, name);
      ms.push_back(stopwatch.elapsed().cpu_ms);
      if (again.tables.size() != task.tables.size()) throw Error(name + ": was read otherwise");
    }
    const auto count = [](std::size_t n) { return with_separators(static_cast<std::int64_t>(n)); };
    const double each_us = 1e3 * median(ms) / static_cast<double>(different.size());
    table.add_row({name, count(task.tables.size()), count(task.derived_histograms.size()),
                   count(different.size()), three_digits(median(ms)),
                   different.empty() ? "-" : three_digits(each_us)});
  }
  out << table.str();
}

}  // namespace

void add_read_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<ReadOptions>();
  CLI::App* command = program.add_subcommand("read", "Time to read tasks without histograms");
  command->footer(kReadFooter);
  const command_line::OptionGroup general(*command);
  general.with_default("--data", "FOLDER", options->data, "Folder of task files");
  general.with_default("--tables", options->tables, "Tables of drawn tasks")
      ->delimiter(',')
      ->check(CLI::Range(1, 100000));
  general.with_default("--rounds", options->rounds, "Times that each task is read")
      ->check(CLI::Range(1, 10000));
  command_line::run_if_given(*command, chosen, options, run_read);
}

}  // namespace neuroshard::bench
