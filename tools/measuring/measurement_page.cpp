#include <algorithm>
#include <cmath>

#include "tools/charts/bar_chart.h"
#include "tools/measuring/measured_terms.h"
#include "tools/measuring/measurement_report.h"
#include "tools/plan_pages/plan_report.h"
#include "tools/planning/matched_plans.h"

namespace neuroshard::tools {
namespace {

using ranks::MeasuredDevice;
using ranks::MeasuredPlan;
using ranks::Phase;
using ranks::Spread;

std::string range_text(const Spread& spread) {
  return format_ms(spread.low_ms) + "-" + format_ms(spread.high_ms);
}

// Why plan `plan` was not measured.
std::string reason_of(const MeasurementReport& report, std::size_t plan) {
  const MeasuredPlan* measured = report.of(plan);
  return measured == nullptr ? std::string(kNoPlanInFile) : measured->lack->message;
}

std::string ratio_text(double predicted_ms, double measured_ms) {
  return format_short(predicted_ms / measured_ms);
}

// Terms that are neither predicted nor measured of any device are left out.
std::vector<MeasuredTerm> terms_of(const PlanCost& predicted, const MeasuredPlan& measured) {
  std::vector<MeasuredTerm> terms;
  for (const MeasuredTerm& term : kMeasuredTerms) {
    bool any = false;
    for (std::size_t d = 0; d < measured.devices.size(); ++d) {
      any = any || predicted.devices[d].*term.predicted_ms != 0.0 ||
            term.measured(measured.devices[d]).high_ms != 0.0;
    }
    if (any) terms.push_back(term);
  }
  return terms;
}

// Three lines a device: the median, the quartiles, what was predicted.
std::string device_lines(const PlanCost& predicted, const MeasuredPlan& measured) {
  using enum TextTable::Align;
  const std::vector<MeasuredTerm> terms = terms_of(predicted, measured);
  std::vector<std::string> head = {"device", "", "total ms"};
  for (const MeasuredTerm& term : terms) head.emplace_back(term.name);
  head.insert(head.end(), {"lookup", "update", "unpriced"});
  std::vector<TextTable::Align> aligns(head.size(), kRight);
  aligns[1] = kLeft;
  TextTable table(aligns);
  table.add_row(head);
  for (std::size_t d = 0; d < measured.devices.size(); ++d) {
    const MeasuredDevice& device = measured.devices[d];
    std::vector<Spread> spreads = {device.total};
    for (const MeasuredTerm& term : terms) spreads.push_back(term.measured(device));
    for (const Phase phase : {Phase::kForwardCompute, Phase::kBackwardCompute, Phase::kUnpriced}) {
      spreads.push_back(device.phase(phase));
    }
    std::vector<std::string> medians = {std::to_string(d), "measured"};
    std::vector<std::string> quartiles = {"", "quartiles"};
    for (const Spread& spread : spreads) {
      medians.push_back(format_ms(spread.median_ms));
      quartiles.push_back(range_text(spread));
    }
    const DeviceCost& cost = predicted.devices[d];
    std::vector<std::string> expected = {"", "predicted", format_ms(cost.total_ms())};
    for (const MeasuredTerm& term : terms) expected.push_back(format_ms(cost.*term.predicted_ms));
    expected.resize(head.size());
    table.add_row(medians);
    table.add_row(quartiles);
    table.add_row(expected);
  }
  return table.str();
}

std::string plan_lines(const MeasurementReport& report) {
  using enum TextTable::Align;
  TextTable table({kRight, kLeft, kRight, kRight, kRight, kRight, kLeft});
  table.add_row(
      {"task", "plan", "measured ms", "quartiles", "predicted ms", "predicted/measured", ""});
  for (std::size_t i = 0; i < report.inputs.plans.size(); ++i) {
    const PlanToMeasure& plan = report.inputs.plans[i];
    const std::string task = std::to_string(report.inputs.loaded.indices[plan.task]);
    const MeasuredPlan* measured = report.run_of(i);
    if (measured == nullptr) {
      table.add_row(
          {task, printable(plan.where), "-", "", "-", "", printable(reason_of(report, i))});
      continue;
    }
    table.add_row({task, printable(plan.where), format_ms(measured->cost.median_ms),
                   range_text(measured->cost), format_ms(plan.predicted.cost_ms),
                   ratio_text(plan.predicted.cost_ms, measured->cost.median_ms), ""});
  }
  return table.str();
}

std::string method_text(const MeasurementReport& report) {
  const ranks::PlanMeasurement& measurement = report.command.measurement;
  return counted(static_cast<std::uint64_t>(report.inputs.devices), "rank") + " of " +
         counted(static_cast<std::uint64_t>(report.threads), "thread") + " on " +
         counted(static_cast<std::uint64_t>(report.machines), "machine") + " (" +
         printable(report.hardware) + "), exchange " + report.command.exchange + "; batch " +
         format_count(static_cast<std::uint64_t>(report.inputs.batch)) + "; " +
         counted(static_cast<std::uint64_t>(measurement.rounds), "round") + " of " +
         counted(static_cast<std::uint64_t>(measurement.protocol.iterations), "iteration") +
         " after " + std::to_string(measurement.protocol.warm_up) + " to warm up";
}

}  // namespace

const MeasuredPlan* MeasurementReport::of(std::size_t plan) const {
  if (!inputs.plans[plan].plan) return nullptr;
  std::size_t place = 0;
  for (std::size_t i = 0; i < plan; ++i) place += inputs.plans[i].plan ? 1 : 0;
  return &measured[place];
}

const MeasuredPlan* MeasurementReport::run_of(std::size_t plan) const {
  const MeasuredPlan* measured_plan = of(plan);
  return measured_plan == nullptr || measured_plan->lack ? nullptr : measured_plan;
}

std::optional<Accuracy> accuracy_of(const MeasurementReport& report) {
  std::vector<float> measured_ms;
  std::vector<float> predicted_ms;
  for (std::size_t i = 0; i < report.inputs.plans.size(); ++i) {
    const MeasuredPlan* measured = report.run_of(i);
    if (measured == nullptr) continue;
    measured_ms.push_back(static_cast<float>(measured->cost.median_ms));
    predicted_ms.push_back(static_cast<float>(report.inputs.plans[i].predicted.cost_ms));
  }
  if (measured_ms.size() < 2) return std::nullopt;
  return measure_accuracy(measured_ms, predicted_ms);
}

std::string measurement_page(const MeasurementReport& report, const TextStyle& style) {
  std::string text;
  const auto add = [&](const std::string& label, const std::string& line) {
    text += paragraph(label, line, 10, style);
  };
  const PlanToMeasure& first = report.inputs.plans[0];
  if (report.inputs.plans.size() > 1) {
    text += plan_lines(report) + '\n';
  } else if (const MeasuredPlan* measured = report.run_of(0)) {
    text += bold(printable(report.inputs.loaded.titles[first.task]), style) + ": " +
            task_line(report.inputs.tasks[first.task].task) + "\n\n" +
            device_lines(first.predicted, *measured) + '\n';
    add("cost", "measured " + format_ms(measured->cost.median_ms) +
                    " ms per iteration (quartiles " + range_text(measured->cost) + "), predicted " +
                    format_ms(first.predicted.cost_ms) + " ms, " +
                    ratio_text(first.predicted.cost_ms, measured->cost.median_ms) +
                    " of what was measured");
  } else {
    add("no run", printable(reason_of(report, 0)));
  }
  if (const std::optional<Accuracy> accuracy = accuracy_of(report)) {
    add("accuracy", "Kendall tau " + format_number(accuracy->kendall_tau, 3) + ", MAPE " +
                        format_number(100.0 * accuracy->mape, 1) + " % of " +
                        format_count(accuracy->costs) + " plans");
  }
  if (report.inputs.devices > 0) add("measured", method_text(report));
  add("weights", printable(report.inputs.weights));
  for (const std::string& note : report.inputs.notes) add("note", printable(note));
  return text;
}

std::string measurement_chart(const MeasurementReport& report) {
  const std::vector<PlanToMeasure>& plans = report.inputs.plans;
  charts::BarChart chart{.title = "", .y_label = "ms per iteration", .groups = {}, .bars = {}};
  if (plans.size() == 1) {
    chart.title = "Measured and predicted cost of each device";
    const MeasuredPlan* measured = report.run_of(0);
    if (measured == nullptr) return charts::draw(chart);
    for (const MeasuredTerm& term : terms_of(plans[0].predicted, *measured)) {
      charts::Bars found{std::string(term.name) + ", measured", {}};
      charts::Bars expected{std::string(term.name) + ", predicted", {}};
      for (std::size_t d = 0; d < measured->devices.size(); ++d) {
        found.values.push_back(term.measured(measured->devices[d]).median_ms);
        expected.values.push_back(plans[0].predicted.devices[d].*term.predicted_ms);
      }
      chart.bars.push_back(std::move(found));
      chart.bars.push_back(std::move(expected));
    }
    for (std::size_t d = 0; d < measured->devices.size(); ++d) {
      chart.groups.push_back("device " + std::to_string(d));
    }
    return charts::draw(chart);
  }
  chart.title = "Measured and predicted cost of each plan";
  chart.bars = {{"measured", {}}, {"predicted", {}}};
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const MeasuredPlan* measured = report.run_of(i);
    chart.groups.push_back("plan " + std::to_string(i));
    chart.bars[0].values.push_back(measured == nullptr ? NAN : measured->cost.median_ms);
    chart.bars[1].values.push_back(measured == nullptr ? NAN : plans[i].predicted.cost_ms);
  }
  return charts::draw(chart);
}

}  // namespace neuroshard::tools
