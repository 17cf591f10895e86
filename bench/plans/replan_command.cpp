#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/inputs/job_changes.h"
#include "bench/inputs/plan_cases.h"
#include "bench/machine/machine_context.h"
#include "bench/markdown_table.h"
#include "bench/plans/changes_as_one.h"
#include "bench/statistics.h"
#include "bench/stopwatch.h"
#include "core/base/random.h"
#include "neuroshard/error.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "tools/command_line/options.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kReplanFooter =
    R"(Measures what re-planning moves and costs. Each table set is planned, then something
happens to the job, and it is planned again near to the plan that runs. 'moved' is the bytes that
have to be moved, divided by those that must be if all tables stay sharded as they run; 'all' is
that of all sets together. 'cost' is the plan's cost divided by that of a plan made anew, which
knows nothing of the running one. Ten changes in a row are drawn, of equal kinds for each set:
five tables are added, three are doubled, and two devices are lost. Each starts from the plan
before it, and the moves of all ten are counted. With one account, each may also move what those
before it left of their budgets. Other pooling factors (0.8 to 1.2 times the old ones) force no
move: their gain must pay for moves (--ms-per-moved-gb), or the plan stays.

With --bound, 'at once' and 'bound' are costs divided by that of a plan made anew. 'at once' is
that of the cheaper of two plans: the one that is judged, and one near to the first plan, made
when all changes are known, with the bytes that all budgets together allowed. 'bound' is that of
the cheapest of these and one made anew that moves what it likes, but replicates no table for
which alone these bytes are too few. Both are 1 without --bound.

Example:
  nsbench replan --devices 16,128 --effort fast)";

struct ReplanOptions {
  TableSetOptions cases{.devices = {16, 128}};
  std::string effort = "default";
  double ms_per_moved_gib = 0.0;
  double small_moves_share = ReplanRequest{}.small_moves_share;
  double small_moves_gib = gib_from_bytes(ReplanRequest{}.small_moves_bytes);
  int threads = 1;
  std::vector<std::string> changes;  ///< Words of their names; empty: all.
  bool list = false;
  bool bound = false;
};

struct Judged {
  std::int64_t must_move_bytes = 0;
  std::int64_t moved_bytes = 0;
  double cost_ratio = 1.0;
  double at_once_ratio = 1.0;
  double bound_ratio = 1.0;
  double replan_ms = 0.0;
  double anew_ms = 0.0;
};

// Nothing where a changed task has no plan, or one that re-planning refuses.
std::optional<Judged> judge(const Planner& planner, const Scenario& scenario, Task task,
                            PlanResult plan, const ReplanOptions& options) {
  Random random(20231, 0);
  Judged judged;
  std::optional<ChangesAsOne> as_one;
  std::int64_t unspent_bytes = 0;
  for (int i = 0; i < scenario.changes; ++i) {
    if (!plan.plan) return std::nullopt;
    if (options.bound && i == 0) as_one.emplace(task, *plan.plan);
    const Changed changed = scenario.change(task, random);
    const RunningPlan running{task, *plan.plan, changed.lost_devices};
    ReplanRequest request;
    request.ms_per_moved_gib = options.ms_per_moved_gib;
    request.small_moves_share = options.small_moves_share;
    request.small_moves_bytes = std::llround(options.small_moves_gib * bytes_from_gib(1.0));
    if (scenario.one_account && options.ms_per_moved_gib == 0.0) {
      request.unspent_bytes = unspent_bytes;
    }
    const Stopwatch anew_watch;
    const PlanResult anew = planner.plan(changed.task);
    judged.anew_ms += anew_watch.elapsed().wall_ms;
    if (!anew.plan) return std::nullopt;
    const Stopwatch watch;
    ReplanResult replanned = planner.replan(changed.task, running, request);
    judged.replan_ms += watch.elapsed().wall_ms;
    if (!replanned.result.plan) throw Error("no plan is left where there is one anew");
    if (planner.simulate(changed.task, *replanned.result.plan).cost_ms !=
        replanned.result.cost.cost_ms) {
      throw Error("a new plan's cost is not what simulate() says", ErrorKind::kBackend);
    }
    judged.must_move_bytes += replanned.must_move_bytes;
    judged.moved_bytes += replanned.moved_bytes;
    unspent_bytes = replanned.unspent_bytes;
    judged.cost_ratio = replanned.result.cost.cost_ms / anew.cost.cost_ms;
    if (as_one) {
      as_one->add(changed, request, replanned);
      if (i + 1 == scenario.changes) {
        const auto [near_ms, within_ms] = as_one->costs(planner);
        judged.at_once_ratio = std::min(judged.cost_ratio, near_ms / anew.cost.cost_ms);
        judged.bound_ratio = std::min(judged.at_once_ratio, within_ms / anew.cost.cost_ms);
      }
    }
    plan = std::move(replanned.result);
    task = changed.task;
  }
  return judged;
}

double gib(std::int64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0); }

/// Results of one scenario over all cases.
struct Changes {
  std::vector<double> cost_ratios;
  std::vector<double> at_once_ratios;
  std::vector<double> bound_ratios;
  std::vector<double> move_ratios;
  std::vector<double> must_gib;
  std::int64_t must_move_bytes = 0;
  std::int64_t moved_bytes = 0;
  std::vector<double> ms;
  std::vector<double> anew_ms;

  void add(const Judged& judged, int changes) {
    cost_ratios.push_back(judged.cost_ratio);
    at_once_ratios.push_back(judged.at_once_ratio);
    bound_ratios.push_back(judged.bound_ratio);
    if (judged.must_move_bytes > 0) {
      move_ratios.push_back(static_cast<double>(judged.moved_bytes) /
                            static_cast<double>(judged.must_move_bytes));
    }
    must_gib.push_back(gib(judged.must_move_bytes));
    must_move_bytes += judged.must_move_bytes;
    moved_bytes += judged.moved_bytes;
    ms.push_back(judged.replan_ms / changes);
    anew_ms.push_back(judged.anew_ms / changes);
  }

  [[nodiscard]] std::vector<std::string> row(const char* name, int devices) const {
    const auto worst = [](const std::vector<double>& ratios) {
      return ratios.empty() ? "-" : three_decimals(*std::max_element(ratios.begin(), ratios.end()));
    };
    return {name,
            std::to_string(devices),
            std::to_string(cost_ratios.size()),
            three_digits(median(must_gib)),
            must_move_bytes == 0 ? "-" : three_decimals(gib(moved_bytes) / gib(must_move_bytes)),
            move_ratios.empty() ? "-" : three_decimals(geometric_mean(move_ratios)),
            worst(move_ratios),
            three_decimals(geometric_mean(cost_ratios)),
            worst(cost_ratios),
            three_decimals(geometric_mean(at_once_ratios)),
            three_decimals(geometric_mean(bound_ratios)),
            three_digits(median(ms)),
            three_digits(median(anew_ms))};
  }
};

void run_replan(const ReplanOptions& options, std::ostream& out) {
  const Planner planner(builtin_weights(),
                        {.effort = effort_from_name(options.effort), .threads = options.threads});
  out << context_block(machine_context()) << '\n';
  MarkdownTable all({"change", "devices", "cases", "must GiB", "moved, all", "moved / must",
                     "worst", "cost / anew", "worst", "at once", "bound", "ms", "anew ms"});
  MarkdownTable list({"case", "devices", "change", "must GiB", "moved GiB", "cost / anew",
                      "at once", "bound", "ms"});
  const std::vector<const Scenario*> wanted = scenarios(options.changes);
  TableSetOptions sets = options.cases;
  for (const int devices : options.cases.devices) {
    sets.devices = {devices};
    std::vector<Changes> judged(wanted.size());
    for (const PlanCase& one : table_set_cases(sets)) {
      const PlanResult running = planner.plan(one.task);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto of_case = judge(planner, *wanted[i], one.task, running, options);
        if (!of_case) continue;
        judged[i].add(*of_case, wanted[i]->changes);
        list.add_row({one.name, std::to_string(devices), wanted[i]->name,
                      three_digits(gib(of_case->must_move_bytes)),
                      three_digits(gib(of_case->moved_bytes)), three_decimals(of_case->cost_ratio),
                      three_decimals(of_case->at_once_ratio), three_decimals(of_case->bound_ratio),
                      three_digits(judged[i].ms.back())});
      }
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (judged[i].cost_ratios.empty()) continue;
      all.add_row(judged[i].row(wanted[i]->name, devices));
    }
  }
  out << all.str();
  if (options.list) out << '\n' << list.str();
}

}  // namespace

void add_replan_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<ReplanOptions>();
  CLI::App* command =
      program.add_subcommand("replan", "Bytes that re-planning moves, and its cost");
  command->footer(kReplanFooter);
  add_table_set_options(*command, options->cases, 3);
  const command_line::OptionGroup general(*command);
  general.with_default("--effort", options->effort, "Effort of the search");
  general
      .add("--ms-per-moved-gb", options->ms_per_moved_gib,
           "Price of a moved GiB, in place of a budget of 1.2 times the GiB that must be moved")
      ->check(CLI::Range(0.0, 1e6));
  general
      .with_default("--small-moves-share", options->small_moves_share,
                    "Share of the tables' memory that may be moved if it pays")
      ->check(CLI::Range(0.0, 1.0));
  general
      .with_default(
          "--small-moves-gb", options->small_moves_gib,
          "GiB per device that may be moved in this way; with this and the share 0, nothing is")
      ->check(CLI::Range(0.0, 1e6));
  general.with_default("--threads", options->threads, "Threads of one plan")
      ->check(CLI::Range(1, 1024));
  general.add("--changes", options->changes, "Only changes whose names have these words");
  general.flag("--bound", options->bound,
               "Also plan anew without replicas that the budget has no bytes for");
  general.flag("--list", options->list, "Also list each case");
  command_line::run_if_given(*command, chosen, options, run_replan);
}

}  // namespace neuroshard::bench
