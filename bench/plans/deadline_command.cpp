#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>
#include <span>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/inputs/plan_cases.h"
#include "bench/machine/machine_context.h"
#include "bench/markdown_table.h"
#include "bench/statistics.h"
#include "bench/stopwatch.h"
#include "neuroshard/error.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "tools/command_line/options.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kDeadlineFooter =
    R"(Measures how late plans with a deadline come. Every table set is planned with thorough
effort, again and again, with deadlines from 0.1 to 100 ms. Overshoot is the time from the
deadline to the return of plan(). A busy machine takes the core away for a while, whatever runs on
it; 'undisturbed' plans lost the core for 0.1 ms at most. 'no plan' counts returns before there
was one; 'cost' is the geometric mean, over cases that had a plan at each deadline, of the median
cost divided by that at the longest deadline.

Example:
  nsbench deadline --plans 10000 --devices 16,128)";

struct DeadlineOptions {
  TableSetOptions cases{.devices = {16, 128}};
  std::size_t plans = 2000;
  std::vector<double> deadlines_ms = {0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0};
  int threads = 1;
};

constexpr double kDisturbanceMs = 0.1;

/// Plans with one deadline.
struct DeadlineRow {
  std::vector<double> overshoot_ms;
  std::vector<double> undisturbed_ms;  ///< Overshoot of those plans that had the core all the time.
  std::size_t without_plan = 0;
  std::size_t complete = 0;
  std::vector<std::vector<double>> cost_ms;  ///< [cases][plans that there are]
};

void plan_once(const Planner& planner, const Task& task, double deadline_ms, std::size_t case_index,
               DeadlineRow& row) {
  using Clock = std::chrono::steady_clock;
  PlanRequest request;
  const Stopwatch stopwatch;
  request.deadline = deadline_in(deadline_ms);
  const PlanResult result = planner.plan(task, request);
  const std::chrono::duration<double, std::milli> late = Clock::now() - *request.deadline;
  const Elapsed elapsed = stopwatch.elapsed();
  row.overshoot_ms.push_back(std::max(late.count(), 0.0));
  if (elapsed.wall_ms - elapsed.cpu_ms < kDisturbanceMs) {
    row.undisturbed_ms.push_back(row.overshoot_ms.back());
  }
  row.complete += result.complete ? 1 : 0;
  if (!result.plan) {
    ++row.without_plan;
    return;
  }
  validate(*result.plan, task);
  if (!result.cost.fits_memory) throw Error("a plan exceeds memory", ErrorKind::kBackend);
  row.cost_ms[case_index].push_back(result.cost.cost_ms);
}

std::string relative_cost(std::span<const DeadlineRow> rows, std::size_t row) {
  std::vector<double> ratios;
  for (std::size_t c = 0; c < rows[row].cost_ms.size(); ++c) {
    const bool everywhere = std::all_of(rows.begin(), rows.end(), [&](const DeadlineRow& other) {
      return !other.cost_ms[c].empty();
    });
    if (everywhere) ratios.push_back(median(rows[row].cost_ms[c]) / median(rows.back().cost_ms[c]));
  }
  return ratios.empty() ? "-" : three_decimals(geometric_mean(ratios));
}

std::string late(std::span<const double> overshoot_ms, double percent) {
  return overshoot_ms.empty() ? "-" : three_decimals(percentile(overshoot_ms, percent));
}

void run_deadline(const DeadlineOptions& options, std::ostream& out) {
  const Planner planner(builtin_weights(),
                        {.effort = Effort::kThorough, .threads = options.threads});
  const std::vector<PlanCase> cases = table_set_cases(options.cases);
  if (cases.empty()) throw Error("--sets, --devices: no table set fits; give more devices");
  std::vector<DeadlineRow> rows(options.deadlines_ms.size());
  for (DeadlineRow& row : rows) row.cost_ms.resize(cases.size());
  const std::size_t passes =
      (options.plans + cases.size() * rows.size() - 1) / (cases.size() * rows.size());
  for (std::size_t pass = 0; pass < passes; ++pass) {
    for (std::size_t c = 0; c < cases.size(); ++c) {
      for (std::size_t r = 0; r < rows.size(); ++r) {
        plan_once(planner, cases[c].task, options.deadlines_ms[r], c, rows[r]);
      }
    }
  }
  out << context_block(machine_context()) << '\n';
  MarkdownTable table({"deadline ms", "plans", "no plan", "complete", "overshoot ms p50", "p99.9",
                       "undisturbed", "p50", "p99", "p99.9", "max", "cost"});
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const DeadlineRow& row = rows[r];
    table.add_row({three_digits(options.deadlines_ms[r]),
                   with_separators(static_cast<std::int64_t>(row.overshoot_ms.size())),
                   with_separators(static_cast<std::int64_t>(row.without_plan)),
                   with_separators(static_cast<std::int64_t>(row.complete)),
                   late(row.overshoot_ms, 50.0), late(row.overshoot_ms, 99.9),
                   with_separators(static_cast<std::int64_t>(row.undisturbed_ms.size())),
                   late(row.undisturbed_ms, 50.0), late(row.undisturbed_ms, 99.0),
                   late(row.undisturbed_ms, 99.9), late(row.undisturbed_ms, 100.0),
                   relative_cost(rows, r)});
  }
  out << table.str();
}

}  // namespace

void add_deadline_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<DeadlineOptions>();
  CLI::App* command = program.add_subcommand("deadline", "How late plans with a deadline come");
  command->footer(kDeadlineFooter);
  add_table_set_options(*command, options->cases, 1, "--data");
  const command_line::OptionGroup general(*command);
  general.with_default("--plans", options->plans, "Least number of plans")
      ->check(CLI::Range(1, 10000000));
  general.with_default("--deadlines-ms", options->deadlines_ms, "Deadlines")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 1e6));
  general.with_default("--threads", options->threads, "Threads of one plan")
      ->check(CLI::Range(1, 1024));
  command_line::run_if_given(*command, chosen, options, run_deadline);
}

}  // namespace neuroshard::bench
