#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/markdown_table.h"
#include "bench/scale/child_process.h"
#include "bench/scale/scale_report.h"
#include "neuroshard/error.h"
#include "tools/command_line/options.h"
#include "weights/files/atomic_file.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kScaleFooter =
    R"(Tables are drawn from those of --data. Each size is planned in a process of its own, so
that its peak of resident memory is its own, and one that takes too long can be ended. Device
counts for which there is no communication model get one with random weights: the time is right,
the plan means nothing, and the report says so.

Examples:
  nsbench scale --svg scale.svg
  nsbench scale --tables 100,1000 --devices 8,128 --points 1022x128)";

struct ScaleOptions {
  CommonOptions common;
  PlannerOptions planner;
  std::vector<int> tables = {10, 30, 100, 300, 1000, 3000, 10000};
  std::vector<int> devices = {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  int with_devices = 8;
  int with_tables = 4000;
  std::vector<std::string> points = {"1022x128", "10000x1024"};
  double seconds = 0.5;
  double limit_seconds = 60.0;
  std::vector<std::string> task_files;
  std::string svg;
};

struct PointOptions {
  CommonOptions common;
  PlannerOptions planner;
  std::string task_file;
  int tables = 0;
  int devices = 0;
  double seconds = 0.0;
};

// Arguments of a size, or of a task file.
std::vector<std::string> point_args(const ScaleOptions& options, const ScaleResult& size) {
  const SearchOptions& search = options.planner.search;
  std::vector<std::string> args = {"scale-point", "--data", options.common.data, "--weights",
                                   options.common.weights};
  const auto add = [&](const char* name, const std::string& value) {
    args.insert(args.end(), {name, value});
  };
  if (size.task_file.empty()) {
    add("--tables", std::to_string(size.tables));
    add("--devices", std::to_string(size.devices));
  } else {
    add("--task", size.task_file);
  }
  add("--seconds", std::to_string(options.seconds));
  add("--backend", options.planner.backend);
  add("--threads", std::to_string(options.planner.threads));
  add("--beam-width", std::to_string(search.beam_width));
  add("--candidates", std::to_string(search.candidates));
  add("--max-splits", std::to_string(search.max_splits));
  add("--grid-steps", std::to_string(search.grid_steps));
  return args;
}

void measure(const ScaleOptions& options, ScaleResult& result) {
  const ChildResult child = run_self(point_args(options, result), options.limit_seconds);
  if (child.timed_out) {
    result.failure = "> " + three_digits(options.limit_seconds * 1e3);
  } else if (child.exit_code != 0) {
    result.failure = "failed";
  } else {
    result.point = scale_point_from_json(child.output);
    result.tables = result.point->tables;
    result.devices = result.point->devices;
  }
}

ScaleResult parse_size(const std::string& text) {
  const std::size_t cross = text.find('x');
  ScaleResult size;
  try {
    size.tables = std::stoi(text.substr(0, cross));
    if (cross != std::string::npos) size.devices = std::stoi(text.substr(cross + 1));
  } catch (const std::exception&) {
    size.devices = 0;
  }
  if (size.tables < 1 || size.devices < 1) {
    throw Error("--points: '" + text + "' is not a size; write TABLESxDEVICES, e.g. 1022x128");
  }
  return size;
}

std::vector<ScaleResult> sizes(const std::vector<int>& tables, const std::vector<int>& devices) {
  std::vector<ScaleResult> all;
  for (const int t : tables) {
    for (const int d : devices) {
      all.push_back(
          {.task_file = "", .tables = t, .devices = d, .point = std::nullopt, .failure = ""});
    }
  }
  return all;
}

void run_scale(const ScaleOptions& options, std::ostream& out) {
  std::vector<ScaleResult> points;
  for (const std::string& text : options.points) points.push_back(parse_size(text));
  std::vector<ScaleResult> by_tables = sizes(options.tables, {options.with_devices});
  std::vector<ScaleResult> by_devices = sizes({options.with_tables}, options.devices);
  Context context = machine_context();
  context.emplace_back("search", text_of(options.planner.search));
  context.emplace_back("threads", std::to_string(options.planner.threads));
  out << context_block(context) << std::flush;
  JsonReport report;
  bool random_comm = false;
  const auto finish = [&](const std::string& title, const std::vector<ScaleResult>& results) {
    for (const ScaleResult& result : results) {
      add_to_report(report, result, options.planner.threads);
      random_comm = random_comm || (result.point && result.point->random_comm);
    }
    out << "\n## " << title << "\n\n" << scale_table(results) << std::flush;
  };
  for (const auto& [title, results] :
       {std::pair{"Tables", &by_tables}, std::pair{"Devices", &by_devices},
        std::pair{"Single sizes", &points}}) {
    if (results->empty()) continue;
    for (ScaleResult& result : *results) measure(options, result);
    finish(title, *results);
  }
  for (const std::string& file : options.task_files) {
    std::vector<ScaleResult> one(1);
    one.front().task_file = file;
    measure(options, one.front());
    finish(file, one);
  }
  if (random_comm) {
    out << "\nSome device counts have no communication model: random weights stood in for it.\n";
  }
  if (!options.common.json.empty()) write_file(options.common.json, report.str(context));
  if (!options.svg.empty()) write_file(options.svg, scale_chart(by_tables, by_devices));
}

Task task_of(const PointOptions& options) {
  if (options.task_file.empty()) {
    return drawn_task(GoldenFolder(options.common.data).tables(), options.tables, options.devices,
                      /*seed=*/1);
  }
  return load_whole_task(options.task_file);
}

void run_point(const PointOptions& options, std::ostream& out) {
  out << to_json(measure_scale_point(load_models(options.common), task_of(options), options.planner,
                                     options.seconds))
      << "\n";
}

// Adds the command that `scale` starts for each size.
void add_point_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<PointOptions>();
  CLI::App* command = program.add_subcommand("scale-point", "One size, as JSON")->group("");
  add_common_options(*command, options->common);
  command->add_option("--tables", options->tables)->check(CLI::Range(1, 1000000));
  command->add_option("--devices", options->devices)->check(CLI::Range(1, kMaxDevices));
  command->add_option("--task", options->task_file);
  command->add_option("--seconds", options->seconds)->required();
  command->add_option("--backend", options->planner.backend);
  command->add_option("--threads", options->planner.threads);
  add_search_options(*command, options->planner.search);
  command_line::run_if_given(*command, chosen, options, run_point);
}

}  // namespace

void add_scale_command(CLI::App& program, Action& chosen) {
  add_point_command(program, chosen);
  const auto options = std::make_shared<ScaleOptions>();
  options->planner.threads = default_thread_counts().back();
  CLI::App* command =
      program.add_subcommand("scale", "How search time and memory grow with tables and devices");
  command->footer(kScaleFooter);
  add_common_options(*command, options->common);
  const command_line::OptionGroup general(*command);
  const auto list = [&](const char* name, std::vector<int>& values, const char* description) {
    return general.with_default(name, values, description)->delimiter(',');
  };
  list("--tables", options->tables, "Numbers of tables")->check(CLI::Range(1, 1000000));
  list("--devices", options->devices, "Numbers of devices")->check(CLI::Range(1, kMaxDevices));
  general.with_default("--with-devices", options->with_devices, "Devices, while tables vary")
      ->check(CLI::Range(1, kMaxDevices));
  general.with_default("--with-tables", options->with_tables, "Tables, while devices vary")
      ->check(CLI::Range(1, 1000000));
  general.with_default("--points", options->points, "Further sizes, TABLESxDEVICES")
      ->delimiter(',');
  general
      .with_default("--seconds", options->seconds,
                    "Time for which a size is planned again and again")
      ->check(seconds_between(0.0, 3600.0));
  general
      .with_default("--limit-seconds", options->limit_seconds, "Time after which a size is ended")
      ->check(seconds_between(0.001, 86400.0));
  general.with_default("--backend", options->planner.backend, "Backend");
  general.with_default("--threads", options->planner.threads, "Threads of one plan")
      ->check(CLI::Range(1, 1024));
  general.with_default("--task-files", options->task_files, "Task files")->delimiter(',');
  general.with_default("--svg", "FILE", options->svg, "Chart of the times");
  add_search_options(*command, options->planner.search);
  command_line::run_if_given(*command, chosen, options, run_scale);
}

}  // namespace neuroshard::bench
