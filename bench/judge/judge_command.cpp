#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/inputs/plan_cases.h"
#include "bench/judge/judge.h"
#include "bench/machine/machine_context.h"
#include "bench/markdown_table.h"
#include "bench/statistics.h"
#include "bench/stopwatch.h"
#include "neuroshard/cost_bound.h"
#include "neuroshard/planner.h"
#include "neuroshard/simulator.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "tools/command_line/options.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kJudgeFooter =
    R"(Measures how far plans of each effort are from the cheapest plan that is known: the
cheapest of them, or one that a judge finds from it. The judge anneals whole plans of any widths
and ways by their price alone and shares nothing with the planner. Prices are 'predicted', which
the search minimises, or 'analytic', which include errors of the cost models and come with a bound
that no plan is below. CPU times are those of the plans, on one thread.

Examples:
  nsbench judge --sets mlperf_dlrm_v2_criteo1tb_multihot --devices 8,16,32,64
  nsbench judge --seconds 2 --random-tasks 5
  nsbench judge --random-tasks 10 --memory-gb 1000 --full 0.95
  nsbench judge --prices analytic --devices 8,64)";

struct JudgeCommand {
  TableSetOptions cases{.devices = {8, 16, 64, 128}};
  JudgeOptions judge;
  std::string prices = "predicted";
  std::vector<std::string> efforts = {"fast", "default"};
  int random_tasks = 0;
  double full = 0.0;
};

std::vector<PlanCase> cases_of(const JudgeCommand& options) {
  std::vector<PlanCase> cases = cases_of(options.cases, options.random_tasks, options.judge.seed);
  if (options.full > 0.0) {
    for (PlanCase& one : cases) {
      one.task.memory_bytes = static_cast<std::int64_t>(static_cast<double>(total_bytes(one.task)) /
                                                        (options.full * one.task.devices));
    }
  }
  return cases;
}

struct OfEffort {
  std::vector<double> cpu_ms;
  std::vector<double> over_best;
  std::vector<double> over_bound;
};

std::vector<std::string> ratio_cells(std::span<const double> ratios) {
  const auto four_digits = [](double x) { return std::to_string(x).substr(0, 6); };
  const double sum = std::accumulate(ratios.begin(), ratios.end(), 0.0);
  return {four_digits(sum / static_cast<double>(ratios.size())),
          four_digits(percentile(ratios, 50.0)), four_digits(percentile(ratios, 90.0)),
          four_digits(std::ranges::max(ratios))};
}

void run_judge(const JudgeCommand& options, std::ostream& out) {
  out << context_block(machine_context()) << std::flush;
  const CostModels models = builtin_weights();
  const Hardware& machine = hardware_named(kDefaultHardware);
  const bool analytic = options.prices == "analytic";
  std::vector<Planner> planners;
  std::vector<OfEffort> efforts(options.efforts.size());
  std::vector<std::string> head = {"case", "devices", "judge ms", "plans priced"};
  if (analytic) head.emplace_back("bound ms");
  for (const std::string& effort : options.efforts) {
    PlannerOptions of_planner{.effort = effort_from_name(effort), .threads = 1};
    planners.emplace_back(models, of_planner);
    head.push_back(effort);
  }
  MarkdownTable table(head);
  for (const PlanCase& one : cases_of(options)) {
    const auto backend = make_cpu_backend(models_for(models, comm_setting(one.task)));
    const PlanPrice price = [&](const Plan& plan) {
      if (!analytic) return simulate(*backend, one.task, plan);
      PlanCost cost = analytic_plan_cost(machine.gpu, machine.network, one.task, plan);
      cost.fits_memory = simulate(*backend, one.task, plan).fits_memory;
      return cost;
    };
    std::vector<double> costs_ms;
    std::vector<double> cpu_ms;
    std::optional<Plan> best;
    for (const Planner& planner : planners) {
      const Stopwatch watch;
      const PlanResult result = planner.plan(one.task);
      cpu_ms.push_back(watch.elapsed().cpu_ms);
      if (!result.plan) break;
      costs_ms.push_back(price(*result.plan).cost_ms);
      if (costs_ms.back() == *std::ranges::min_element(costs_ms)) best = result.plan;
    }
    if (costs_ms.size() < planners.size()) continue;  // No plan: nothing to be judged.
    const Judged judged = judge(one.task, *best, price, options.judge);
    std::vector<std::string> row = {one.name, std::to_string(one.task.devices),
                                    three_digits(judged.cost_ms), with_separators(judged.priced)};
    double bound_ms = 0.0;
    if (analytic) {
      bound_ms = cost_bound_ms(machine.gpu, machine.network, one.task);
      row.push_back(three_digits(bound_ms));
    }
    for (std::size_t i = 0; i < planners.size(); ++i) {
      efforts[i].over_bound.push_back(costs_ms[i] / bound_ms);
      efforts[i].cpu_ms.push_back(cpu_ms[i]);
      efforts[i].over_best.push_back(costs_ms[i] / judged.cost_ms);
      row.push_back(three_digits(costs_ms[i] / judged.cost_ms) + " (" + three_digits(cpu_ms[i]) +
                    " ms)");
    }
    table.add_row(row);
  }
  out << table.str();
  if (efforts.front().over_best.empty()) return;
  MarkdownTable summary({"over", "plan", "mean", "median", "p90", "worst", "CPU ms"});
  const auto add = [&](const char* over, std::size_t i, const std::vector<double>& ratios) {
    std::vector<std::string> row = {over, options.efforts[i]};
    std::ranges::copy(ratio_cells(ratios), std::back_inserter(row));
    row.push_back(three_digits(geometric_mean(efforts[i].cpu_ms)));
    summary.add_row(row);
  };
  for (std::size_t i = 0; i < planners.size(); ++i) {
    add("cheapest known", i, efforts[i].over_best);
    if (analytic) add("bound", i, efforts[i].over_bound);
  }
  out << "\nCost over the cheapest plan known"
      << (analytic ? " and over what no plan is below" : "") << ", by " << options.prices
      << " prices, of " << efforts.front().over_best.size() << " cases:\n\n"
      << summary.str();
}

}  // namespace

void add_judge_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<JudgeCommand>();
  CLI::App* command =
      program.add_subcommand("judge", "How far plans are from the cheapest that is known");
  command->footer(kJudgeFooter);
  add_table_set_options(*command, options->cases, 2);
  const command_line::OptionGroup general(*command);
  general.with_default("--seconds", options->judge.seconds, "CPU time of the judge for each case")
      ->check(seconds_between(0.01, 86400.0));
  general.with_default("--seed", options->judge.seed, "Seed of the judge and of random tasks");
  general.with_default("--prices", options->prices, "Prices that plans are judged by")
      ->check(CLI::IsMember({"predicted", "analytic"}));
  general.with_default("--efforts", options->efforts, "Efforts whose plans are judged")
      ->delimiter(',');
  general
      .with_default("--random-tasks", options->random_tasks,
                    "Drawn tasks on each number of devices, in place of table sets")
      ->check(CLI::Range(0, 1000000));
  general
      .add("--full", options->full,
           "Share of all memory that the tables take, in place of --memory-gb")
      ->check(CLI::Range(0.01, 1.0));
  command_line::run_if_given(*command, chosen, options, run_judge);
}

}  // namespace neuroshard::bench
