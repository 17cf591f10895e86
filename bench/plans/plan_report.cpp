#include "bench/plans/plan_report.h"

#include <algorithm>
#include <optional>

#include "bench/markdown_table.h"
#include "bench/statistics.h"

namespace neuroshard::bench {
namespace {

std::vector<double> speedups_of(const std::vector<double>& ours_ms, const TaskSet& set,
                                bool only_with_plan) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours_ms.size(); ++i) {
    const std::optional<PublishedRun>& run = set.published[i];
    if (!run || (only_with_plan && !run->cost_ms)) continue;
    ratios.push_back(run->seconds * 1e3 / ours_ms[i]);
  }
  return ratios;
}

std::string geometric_mean_text(const std::vector<double>& ratios) {
  return ratios.empty() ? "-" : three_digits(geometric_mean(ratios)) + "x";
}

// The config without reuse of work, if there is one: the yardstick of the others.
const PlanSummary* yardstick(std::span<const PlanSummary> summaries) {
  const auto found = std::find_if(summaries.begin(), summaries.end(),
                                  [](const PlanSummary& s) { return !s.config.reuse_work; });
  return found == summaries.end() ? nullptr : &*found;
}

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

PlanSummary summarize(const PlanTimes& times, const TaskSet& set) {
  PlanSummary summary;
  summary.config = times.config;
  summary.tasks = set.tasks.size();
  summary.planned = times.planned;
  std::vector<double> total_ms;
  std::vector<double> total_cpu_ms;
  std::vector<std::vector<double>> wall_ms;
  std::vector<std::vector<double>> cpu_ms;
  for (const PlanRound& round : times.rounds) {
    total_ms.push_back(round.total.wall_ms);
    total_cpu_ms.push_back(round.total.cpu_ms);
    wall_ms.push_back(round.wall_ms);
    cpu_ms.push_back(round.cpu_ms);
  }
  summary.wall_ms = median_of_rounds(wall_ms);
  summary.cpu_ms = median_of_rounds(cpu_ms);
  const auto plans = static_cast<double>(times.rounds.front().plans);
  summary.plans_per_second = plans * 1e3 / median(total_ms);
  summary.cpu_ms_per_plan = median(total_cpu_ms) / plans;
  summary.spread = relative_spread(total_ms);
  summary.speedups = speedups_of(summary.wall_ms, set, /*only_with_plan=*/false);
  summary.speedups_with_plan = speedups_of(summary.wall_ms, set, /*only_with_plan=*/true);
  summary.cpu_speedups = speedups_of(summary.cpu_ms, set, /*only_with_plan=*/false);
  return summary;
}

std::vector<PlanSummary> combined(const std::vector<std::vector<PlanSummary>>& sets) {
  std::vector<PlanSummary> all = sets.front();
  for (std::size_t c = 0; c < all.size(); ++c) {
    double plans = 0.0;
    double seconds = 0.0;
    double cpu_ms = 0.0;
    for (std::size_t s = 0; s < sets.size(); ++s) {
      const PlanSummary& one = sets[s][c];
      // Batches have no single latency, but all sets have batches of one size.
      const double weight = one.wall_ms.empty() ? 1.0 : static_cast<double>(one.wall_ms.size());
      plans += weight;
      seconds += weight / one.plans_per_second;
      cpu_ms += weight * one.cpu_ms_per_plan;
      all[c].spread = std::max(all[c].spread, one.spread);
      if (s == 0) continue;
      all[c].tasks += one.tasks;
      all[c].planned += one.planned;
      append(all[c].wall_ms, one.wall_ms);
      append(all[c].cpu_ms, one.cpu_ms);
      append(all[c].speedups, one.speedups);
      append(all[c].speedups_with_plan, one.speedups_with_plan);
      append(all[c].cpu_speedups, one.cpu_speedups);
    }
    all[c].plans_per_second = plans / seconds;
    all[c].cpu_ms_per_plan = cpu_ms / plans;
  }
  return all;
}

std::string plan_table(std::span<const PlanSummary> summaries) {
  const PlanSummary* base = yardstick(summaries);
  const bool published = std::any_of(summaries.begin(), summaries.end(),
                                     [](const PlanSummary& s) { return !s.speedups.empty(); });
  std::vector<std::string> header = {"configuration", "planned", "p50 ms",      "p90 ms", "p99 ms",
                                     "max ms",        "tasks/s", "CPU ms/task", "spread"};
  if (base != nullptr) header.emplace_back("vs no reuse");
  if (published) {
    header.emplace_back("vs published");
    header.emplace_back("where it has a plan");
    header.emplace_back("by CPU time");
  }
  MarkdownTable table(header);
  for (const PlanSummary& s : summaries) {
    std::vector<std::string> row = {s.config.name(),
                                    std::to_string(s.planned) + " of " + std::to_string(s.tasks)};
    for (const double p : {50.0, 90.0, 99.0, 100.0}) {
      row.push_back(s.wall_ms.empty() ? "-" : three_digits(percentile(s.wall_ms, p)));
    }
    row.push_back(three_digits(s.plans_per_second));
    row.push_back(three_digits(s.cpu_ms_per_plan));
    row.push_back(percent(s.spread));
    if (base != nullptr) {
      row.push_back(three_digits(s.plans_per_second / base->plans_per_second) + "x");
    }
    if (published) {
      row.push_back(geometric_mean_text(s.speedups));
      row.push_back(geometric_mean_text(s.speedups_with_plan));
      row.push_back(geometric_mean_text(s.cpu_speedups));
    }
    table.add_row(std::move(row));
  }
  return table.str();
}

void add_to_report(JsonReport& report, const PlanTimes& times, const PlanSummary& summary,
                   const TaskSet& set) {
  Measurement measurement;
  measurement.name = "plan/" + set.name + "/" + times.config.path();
  measurement.threads = times.config.threads;
  measurement.operations = static_cast<std::int64_t>(times.rounds.front().plans);
  for (const PlanRound& round : times.rounds) {
    const auto plans = static_cast<double>(round.plans);
    measurement.rounds.push_back({round.total.wall_ms / plans, round.total.cpu_ms / plans});
  }
  auto& figures = measurement.figures;
  figures["tasks"] = static_cast<double>(set.tasks.size());
  figures["planned"] = static_cast<double>(summary.planned);
  figures["devices"] = set.tasks.front().devices;
  figures["plans_per_second"] = summary.plans_per_second;
  figures["spread"] = summary.spread;
  if (!summary.wall_ms.empty()) {
    figures["p50_ms"] = percentile(summary.wall_ms, 50.0);
    figures["p90_ms"] = percentile(summary.wall_ms, 90.0);
    figures["p99_ms"] = percentile(summary.wall_ms, 99.0);
    figures["max_ms"] = percentile(summary.wall_ms, 100.0);
  }
  if (!summary.speedups.empty()) {
    figures["speedup_over_published"] = geometric_mean(summary.speedups);
  }
  if (!summary.speedups_with_plan.empty()) {
    figures["speedup_over_published_where_it_has_a_plan"] =
        geometric_mean(summary.speedups_with_plan);
  }
  if (!summary.cpu_speedups.empty()) {
    figures["speedup_over_published_by_cpu_time"] = geometric_mean(summary.cpu_speedups);
  }
  report.add(measurement);
}

}  // namespace neuroshard::bench
