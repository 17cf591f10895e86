#include <optional>

#include "tools/console/progress_bar.h"
#include "tools/console/result_output.h"
#include "tools/measuring/measure_inputs.h"
#include "tools/measuring/measurement_report.h"
#include "weights/collection/cpu_source.h"
#include "weights/collection/ranks/host_exchange.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kStandardOutput = "-";

// Where results go; made before the work starts.
class MeasurementOutputs {
 public:
  MeasurementOutputs(const MeasureCommand& command, Console& console) {
    const bool json_out = command.json == kStandardOutput;
    if (!json_out) page_.emplace(console, "");
    if (!command.json.empty()) json_.emplace(console, json_out ? "" : command.json);
    if (!command.svg.empty()) chart_.emplace(console, command.svg);
  }

  void write(const MeasurementReport& report) {
    if (page_) page_->write(measurement_page(report, page_->style()));
    if (json_) json_->write(measurement_json(report));
    if (chart_) chart_->write(measurement_chart(report));
    for (std::optional<ResultOutput>* output : {&page_, &json_, &chart_}) {
      if (*output) (*output)->finish();
    }
  }

 private:
  std::optional<ResultOutput> page_;
  std::optional<ResultOutput> json_;
  std::optional<ResultOutput> chart_;
};

int exit_code(const MeasurementReport& report) {
  for (std::size_t i = 0; i < report.inputs.plans.size(); ++i) {
    if (report.run_of(i) == nullptr) return kExitInfeasible;
  }
  return kExitOk;
}

}  // namespace

int measure_on_ranks(const MeasureCommand& command, const MeasureInputs& inputs,
                     ranks::RankGroup& group, Console& console) {
  std::vector<ranks::PlanRun> runs;
  for (const PlanToMeasure& plan : inputs.plans) {
    if (!plan.plan) continue;
    const MeasuredTask& task = inputs.tasks[plan.task];
    const float learning_rate = kMeasuredLearningRate / static_cast<float>(task.task.batch_size);
    runs.push_back({task.task, *plan.plan, *task.streams, learning_rate});
  }
  const auto exchange = ranks::make_host_exchange(group);
  ranks::PlanMeasurement measurement = command.measurement;
  measurement.flush_caches = !command.keep_caches;
  if (group.rank() != 0) {
    (void)ranks::measure_plans(group, *exchange, runs, measurement);
    return kExitOk;
  }
  MeasurementOutputs outputs(command, console);
  MeasurementReport report{command,
                           inputs,
                           cpu_name(),
                           group.nodes(),
                           ranks::threads_of_rank(group, measurement.threads),
                           {}};
  {
    ProgressBar progress(console, "measuring",
                         runs.size() * static_cast<std::size_t>(measurement.rounds));
    std::uint64_t done = 0;
    measurement.on_measured = [&] { progress.update(++done); };
    report.measured = ranks::measure_plans(group, *exchange, runs, measurement);
  }
  outputs.write(report);
  return exit_code(report);
}

}  // namespace neuroshard::tools
