#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/inputs/gap_cases.h"
#include "bench/machine/machine_context.h"
#include "bench/markdown_table.h"
#include "bench/statistics.h"
#include "bench/stopwatch.h"
#include "core/random.h"
#include "neuroshard/error.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "search/replanning/kind_changes.h"
#include "search/replanning/replanning.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kReplanFooter =
    R"(What re-planning moves and costs. Each table set is planned, then something happens to the job, and
it is planned again near to the plan that runs. 'moved' is what has to be moved over what is on no
device and must be moved in any case; 'cost' is the plan's over that of a plan made anew, which
knows nothing of the running one. Ten changes in a row are
drawn: a device lost or added, a table added or doubled; each starts from the plan before it, and what
is moved in all of them is counted. With one account, each may also move what those before left of
their budgets. Other pooling factors (0.8 to 1.2 times the old ones) force no
move: what they gain has its price (--ms-per-moved-gb), or the plan stays. With --bound, 'bound' is
the cost over that of a plan made anew of the cheaper of two plans: the one near to the plan that runs,
and one made anew that moves what it likes, but replicates no table for which alone the budget has
too few bytes; of changes in a row: for which none of the budgets had enough, unless it was
replicated before. 1 without --bound.

Example:
  nsbench replan --devices 16,128 --effort fast)";

struct ReplanOptions {
  TableSetOptions cases{.devices = {16, 128}};
  std::string effort = "default";
  double ms_per_moved_gib = 0.0;
  int threads = 1;
  std::vector<std::string> changes;  ///< Words of their names; empty: all.
  bool list = false;
  bool bound = false;
};

/// A job after something has happened to it.
struct Changed {
  Task task;
  std::vector<int> lost_devices;
};

using JobChange = std::function<Changed(const Task&, Random&)>;

Changed lose_devices(const Task& task, std::size_t count, Random& random) {
  Changed changed{task, {}};
  while (changed.lost_devices.size() < count) {
    const auto device = static_cast<int>(random.below(static_cast<std::size_t>(task.devices)));
    const auto& lost = changed.lost_devices;
    if (std::find(lost.begin(), lost.end(), device) == lost.end()) {
      changed.lost_devices.push_back(device);
    }
  }
  changed.task.devices -= static_cast<int>(count);
  return changed;
}

std::size_t any_table(const Task& task, Random& random) { return random.below(task.tables.size()); }

Changed add_tables(const Task& task, std::size_t count, Random& random) {
  Changed changed{task, {}};
  for (std::size_t i = 0; i < count; ++i) {
    Table table = task.tables[any_table(task, random)];
    table.name = "added " + std::to_string(changed.task.tables.size()) + " " + table.name;
    changed.task.tables.push_back(std::move(table));
  }
  return changed;
}

Changed double_table(const Task& task, Random& random) {
  Changed changed{task, {}};
  Table& table = changed.task.tables[any_table(task, random)];
  table.rows = std::min(2 * table.rows, kMaxRows);
  return changed;
}

Changed any_change(const Task& task, Random& random) {
  switch (random.below(4)) {
    case 0:
      return add_tables(task, 1, random);
    case 1:
      return double_table(task, random);
    case 2: {
      Changed changed{task, {}};
      changed.task.devices = std::min(task.devices + 1, kMaxDevices);
      return changed;
    }
    default:
      return lose_devices(task, 1, random);
  }
}

Changed other_statistics(const Task& task, Random& random) {
  Changed changed{task, {}};
  for (Table& table : changed.task.tables) table.pooling_factor *= 0.8 + 0.4 * random.uniform();
  return changed;
}

struct Scenario {
  const char* name;
  int changes;
  JobChange change;
  bool one_account = false;  ///< Changes may move what those before left of their budgets.
};

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = {
      {"2 devices lost", 1,
       [](const Task& task, Random& random) { return lose_devices(task, 2, random); }},
      {"1 % more tables", 1,
       [](const Task& task, Random& random) {
         return add_tables(task, (task.tables.size() + 99) / 100, random);
       }},
      {"one table doubled", 1, double_table},
      {"10 changes in a row", 10, any_change},
      {"10 changes, one account", 10, any_change, true},
      {"other pooling factors", 1, other_statistics},
  };
  return all;
}

struct Judged {
  std::int64_t must_move_bytes = 0;
  std::int64_t moved_bytes = 0;
  double cost_ratio = 1.0;
  double bound_ratio = 1.0;
  double replan_ms = 0.0;
  double anew_ms = 0.0;
};

/// Tables that may be replicated after some changes: they were so before, or one of the budgets had
/// bytes enough for a copy on each device.
class ReplicableTables {
 public:
  void add(const Task& task, const RunningPlan& running, std::int64_t must_move_bytes,
           std::int64_t unspent_bytes) {
    may_be_.resize(task.tables.size(), false);
    // A device that has been added gets its share of all columns.
    const int left = running.task.devices - static_cast<int>(running.lost_devices.size());
    const std::int64_t share = size_bytes(task) / task.devices * std::max(0, task.devices - left);
    const std::int64_t spare = share + (share + must_move_bytes) / kShareOnTop + unspent_bytes;
    const RunningKinds kinds(task, running);
    for (std::uint32_t t = 0; t < may_be_.size(); ++t) {
      if (kinds.kind(t) == ShardingKind::kReplicate ||
          kinds.change(t, ShardingKind::kReplicate).more_bytes <= spare) {
        may_be_[t] = true;
      }
    }
  }

  /// `task`, whose rules forbid replicas of the others.
  [[nodiscard]] Task task_within(const Task& task) const {
    Task within = task;
    for (std::size_t t = 0; t < may_be_.size(); ++t) {
      if (!may_be_[t]) forbid_replicas(task, within.tables[t]);
    }
    return within;
  }

 private:
  static std::int64_t size_bytes(const Task& task) {
    std::int64_t bytes = 0;
    for (const Table& table : task.tables) bytes += table.size_bytes();
    return bytes;
  }

  std::vector<bool> may_be_;  ///< [tables]; changes add tables, but drop none.
};

// Of row blocks, re-planning knows those of row-wise tables.
bool may_run(const Task& task, const Plan& plan) {
  return std::ranges::none_of(
      sharding_kinds(task, plan), [](const std::vector<ShardingKind>& kinds) {
        return std::ranges::all_of(kinds, [](ShardingKind kind) {
          return kind == ShardingKind::kTableRow || kind == ShardingKind::kGrid;
        });
      });
}

// Nothing where a changed task has no plan, or one that re-planning refuses.
std::optional<Judged> judge(const Planner& planner, const Scenario& scenario, Task task,
                            PlanResult plan, const ReplanOptions& options) {
  Random random(20231, 0);
  Judged judged;
  ReplicableTables replicable;
  std::int64_t unspent_bytes = 0;
  for (int i = 0; i < scenario.changes; ++i) {
    if (!plan.plan || !may_run(task, *plan.plan)) return std::nullopt;
    const Changed changed = scenario.change(task, random);
    const RunningPlan running{task, *plan.plan, changed.lost_devices};
    ReplanRequest request;
    request.ms_per_moved_gib = options.ms_per_moved_gib;
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
    if (options.bound) {
      replicable.add(changed.task, running, replanned.must_move_bytes,
                     request.unspent_bytes.value_or(0));
    }
    unspent_bytes = replanned.unspent_bytes;
    if (options.bound && i + 1 == scenario.changes) {
      const PlanResult bound = planner.plan(replicable.task_within(changed.task));
      judged.bound_ratio =
          std::min(bound.cost.cost_ms, replanned.result.cost.cost_ms) / anew.cost.cost_ms;
    }
    judged.cost_ratio = replanned.result.cost.cost_ms / anew.cost.cost_ms;
    plan = std::move(replanned.result);
    task = changed.task;
  }
  return judged;
}

double gib(std::int64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0); }

/// What one scenario makes of all cases.
struct Changes {
  std::vector<double> cost_ratios;
  std::vector<double> bound_ratios;
  std::vector<double> move_ratios;
  std::vector<double> must_gib;
  std::vector<double> ms;
  std::vector<double> anew_ms;

  void add(const Judged& judged, int changes) {
    cost_ratios.push_back(judged.cost_ratio);
    bound_ratios.push_back(judged.bound_ratio);
    if (judged.must_move_bytes > 0) {
      move_ratios.push_back(static_cast<double>(judged.moved_bytes) /
                            static_cast<double>(judged.must_move_bytes));
    }
    must_gib.push_back(gib(judged.must_move_bytes));
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
            move_ratios.empty() ? "-" : three_decimals(geometric_mean(move_ratios)),
            worst(move_ratios),
            three_decimals(geometric_mean(cost_ratios)),
            worst(cost_ratios),
            three_decimals(geometric_mean(bound_ratios)),
            three_digits(median(ms)),
            three_digits(median(anew_ms))};
  }
};

std::vector<const Scenario*> wanted_scenarios(const std::vector<std::string>& names) {
  std::vector<const Scenario*> wanted;
  for (const Scenario& scenario : scenarios()) {
    const bool is_wanted =
        names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
          return std::string_view(scenario.name).find(name) != std::string_view::npos;
        });
    if (is_wanted) wanted.push_back(&scenario);
  }
  return wanted;
}

void run_replan(const ReplanOptions& options, std::ostream& out) {
  const Planner planner(builtin_weights(),
                        {.effort = effort_from_name(options.effort), .threads = options.threads});
  out << context_block(machine_context()) << '\n';
  MarkdownTable all({"change", "devices", "cases", "must GiB", "moved / must", "worst",
                     "cost / anew", "worst", "bound", "ms", "anew ms"});
  MarkdownTable list(
      {"case", "devices", "change", "must GiB", "moved GiB", "cost / anew", "bound", "ms"});
  const std::vector<const Scenario*> wanted = wanted_scenarios(options.changes);
  for (const int devices : options.cases.devices) {
    const std::vector<GapCase> cases = table_set_cases(options.cases.folder, options.cases.names,
                                                       {devices}, options.cases.memory_gib);
    std::vector<Changes> judged(wanted.size());
    for (const GapCase& one : cases) {
      const PlanResult running = planner.plan(one.task);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto of_case = judge(planner, *wanted[i], one.task, running, options);
        if (!of_case) continue;
        judged[i].add(*of_case, wanted[i]->changes);
        list.add_row({one.name, std::to_string(devices), wanted[i]->name,
                      three_digits(gib(of_case->must_move_bytes)),
                      three_digits(gib(of_case->moved_bytes)), three_decimals(of_case->cost_ratio),
                      three_decimals(of_case->bound_ratio), three_digits(judged[i].ms.back())});
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
  CLI::App* command = program.add_subcommand("replan", "What re-planning moves, and its cost");
  command->footer(kReplanFooter);
  add_table_set_options(*command, options->cases, 3);
  command->add_option("--effort", options->effort, "Effort")->capture_default_str();
  command
      ->add_option("--ms-per-moved-gb", options->ms_per_moved_gib,
                   "Price of a moved GiB in place of a budget of 1.2 times what must be moved")
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--threads", options->threads, "Threads of one plan")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--changes", options->changes, "Only changes whose names have these words");
  command->add_flag("--bound", options->bound,
                    "Also plan anew without replicas that the budget has no bytes for");
  command->add_flag("--list", options->list, "Also list each case");
  command->callback(
      [options, &chosen] { chosen = [options](std::ostream& out) { run_replan(*options, out); }; });
}

}  // namespace neuroshard::bench
