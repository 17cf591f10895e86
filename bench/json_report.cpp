#include "bench/json_report.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/statistics.h"

namespace neuroshard::bench {
namespace {

using Run = JsonReport::Run;

Run new_run(const Measurement& measurement, std::int64_t family) {
  Run run;
  run.run_name.function_name = measurement.name;
  run.family_index = family;
  run.per_family_instance_index = 0;
  run.repetition_index = Run::no_repetition_index;
  run.repetitions = static_cast<std::int64_t>(measurement.rounds.size());
  run.run_type = Run::RT_Iteration;
  run.report_label = measurement.label;
  run.iterations = measurement.operations;
  run.threads = measurement.threads;
  // compare.py prints whole numbers: in ms, short times would all be 0.
  run.time_unit = benchmark::kMicrosecond;
  run.statistics = nullptr;
  return run;
}

// A run's times are the sums over its iterations, in seconds.
void set_time(Run& run, double wall_ms, double cpu_ms) {
  run.real_accumulated_time = wall_ms * 1e-3 * static_cast<double>(run.iterations);
  run.cpu_accumulated_time = cpu_ms * 1e-3 * static_cast<double>(run.iterations);
}

}  // namespace

void JsonReport::add(const Measurement& measurement) {
  std::vector<Run> runs;
  std::vector<double> wall_ms;
  std::vector<double> cpu_ms;
  for (std::size_t round = 0; round < measurement.rounds.size(); ++round) {
    Run run = new_run(measurement, families_);
    run.repetition_index = static_cast<std::int64_t>(round);
    wall_ms.push_back(measurement.rounds[round].wall_ms);
    cpu_ms.push_back(measurement.rounds[round].cpu_ms);
    set_time(run, wall_ms.back(), cpu_ms.back());
    runs.push_back(run);
  }
  Run middle = new_run(measurement, families_);
  middle.run_type = Run::RT_Aggregate;
  middle.aggregate_name = "median";
  middle.aggregate_unit = benchmark::kTime;
  set_time(middle, median(wall_ms), median(cpu_ms));
  for (const auto& [name, value] : measurement.figures) {
    if (std::isfinite(value)) middle.counters[name] = benchmark::Counter(value);
  }
  runs.push_back(middle);
  groups_.push_back(std::move(runs));
  ++families_;
}

void JsonReport::add(const std::vector<Run>& runs) {
  if (!runs.empty()) groups_.push_back(runs);
}

std::string JsonReport::str(const Context& context) const {
  std::ostringstream text;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&text);
  reporter.ReportContext(benchmark::BenchmarkReporter::Context());
  for (const std::vector<Run>& runs : groups_) reporter.ReportRuns(runs);
  reporter.Finalize();

  auto json = nlohmann::ordered_json::parse(text.str());
  auto& block = json["context"];
  // Results are published: not the names of machines and folders. The build type is that of Google
  // Benchmark, and would be taken for ours.
  for (const char* key : {"host_name", "executable", "library_build_type"}) block.erase(key);
  for (const auto& [key, value] : context) {
    auto& entry = block[key];
    // Several GPUs have one key.
    entry = entry.is_string() ? entry.get<std::string>() + "; " + value : value;
  }
  return json.dump(1) + "\n";
}

}  // namespace neuroshard::bench
