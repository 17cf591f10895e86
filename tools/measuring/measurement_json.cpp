#include <nlohmann/json.hpp>

#include "tools/measuring/measured_terms.h"
#include "tools/measuring/measurement_report.h"
#include "tools/planning/matched_plans.h"

namespace neuroshard::tools {
namespace {

using MeasurementJson = nlohmann::ordered_json;

MeasurementJson spread_json(const ranks::Spread& spread) {
  return {{"median", spread.median_ms}, {"low", spread.low_ms}, {"high", spread.high_ms}};
}

MeasurementJson device_json(std::size_t index, const ranks::MeasuredDevice& device,
                            const DeviceCost& cost) {
  MeasurementJson measured = {{"total_ms", spread_json(device.total)}};
  MeasurementJson predicted = {{"total_ms", cost.total_ms()}};
  for (const MeasuredTerm& term : kMeasuredTerms) {
    const std::string name = std::string(term.name) + "_ms";
    measured[name] = spread_json(term.measured(device));
    predicted[name] = cost.*term.predicted_ms;
  }
  for (const ranks::Phase phase :
       {ranks::Phase::kForwardCompute, ranks::Phase::kBackwardCompute, ranks::Phase::kUnpriced}) {
    const std::string name(ranks::kPhaseNames[static_cast<std::size_t>(phase)]);
    measured[name + "_ms"] = spread_json(device.phase(phase));
  }
  return {{"device", index}, {"measured", measured}, {"predicted", predicted}};
}

MeasurementJson plan_json(const MeasurementReport& report, std::size_t index) {
  const PlanToMeasure& plan = report.inputs.plans[index];
  MeasurementJson json = {{"task", report.inputs.loaded.indices[plan.task]}, {"plan", plan.where}};
  if (!plan.plan) {
    json["error"] = {{"kind", "no_plan"}, {"message", kNoPlanInFile}};
    return json;
  }
  const ranks::MeasuredPlan& measured = *report.of(index);
  if (measured.lack) {
    json["error"] = {
        {"kind", "memory"}, {"device", measured.lack->device}, {"message", measured.lack->message}};
    return json;
  }
  json["measured_ms"] = spread_json(measured.cost);
  json["predicted_ms"] = plan.predicted.cost_ms;
  if (!plan.predicted.warning.empty()) json["warning"] = plan.predicted.warning;
  json["devices"] = MeasurementJson::array();
  for (std::size_t d = 0; d < measured.devices.size(); ++d) {
    json["devices"].push_back(device_json(d, measured.devices[d], plan.predicted.devices[d]));
  }
  return json;
}

}  // namespace

std::string measurement_json(const MeasurementReport& report) {
  const ranks::PlanMeasurement& measurement = report.command.measurement;
  MeasurementJson json = {{"format", "neuroshard.measurement"},
                          {"version", 1},
                          {"exchange", report.command.exchange},
                          {"backend", report.command.backend},
                          {"hardware", report.hardware},
                          {"ranks", report.inputs.devices},
                          {"machines", report.machines},
                          {"threads", report.threads},
                          {"batch", report.inputs.batch},
                          {"warm_up", measurement.protocol.warm_up},
                          {"iterations", measurement.protocol.iterations},
                          {"rounds", measurement.rounds},
                          {"caches", report.command.keep_caches ? "kept" : "flushed"},
                          {"weights", report.inputs.weights},
                          {"notes", report.inputs.notes}};
  if (const std::optional<Accuracy> accuracy = accuracy_of(report)) {
    json["kendall_tau"] = accuracy->kendall_tau;
    json["mape"] = accuracy->mape;
  }
  json["plans"] = MeasurementJson::array();
  for (std::size_t i = 0; i < report.inputs.plans.size(); ++i) {
    json["plans"].push_back(plan_json(report, i));
  }
  return json.dump(2, ' ', false, MeasurementJson::error_handler_t::replace) + '\n';
}

}  // namespace neuroshard::tools
