#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/inputs/plan_cases.h"
#include "bench/machine/machine_context.h"
#include "bench/markdown_table.h"
#include "bench/statistics.h"
#include "core/base/count_up.h"
#include "core/tables/row_popularity.h"
#include "neuroshard/error.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "tools/command_line/options.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kHostFooter =
    R"(Plans tables that are larger than all HBM, and says which share of the looked-up bytes
comes from hosts' memory: for plans whose hottest rows are in HBM, and for three ways to share out
all HBM, as if all devices were one:

  whole    whole tables, those with most lookups per byte first
  one      the same share of the rows of each table, hottest first: one cache_load_factor for all
  least    rows with most lookups per byte, of any table: no plan has fewer
  plan     the plan's share

The table also has the longest wait of a device for its host, and the cost of the plan: both with
rows that stay in HBM for good ("static") and with a cache of the rows that were looked up last
("lru"). "recshard" is the cost of that algorithm's plan with static rows. "whole" and "one" are
costs of our plans with such rows in HBM: as much of it as leads to a plan.

Examples:
  nsbench host                                        # 1 to 16 devices of 40 GiB
  nsbench host --sets hugectr_7table_470B_hotness20 --devices 8 --link-gb-s 50)";

struct HostOptions {
  TableSetOptions cases{.devices = {1, 2, 4, 8, 16}};
  double link_gb_s = 25.0;
  std::string effort = "default";
};

/// Sets that need less do without hosts; sets that need more have hardly a batch in HBM.
constexpr double kMostTimesHbm = 40.0;

/// More than any of the table sets needs.
constexpr double kHostGib = 4096.0;

/// Share of the lookups of a table that its hottest rows get.
double share_of_hottest(const std::vector<PopularRows>& curve, double rows) {
  PopularRows before;
  for (const PopularRows& point : curve) {
    if (rows < point.rows) {
      return std::lerp(before.share, point.share,
                       (rows - before.rows) / (point.rows - before.rows));
    }
    before = point;
  }
  return 1.0;
}

/// Bytes of lookups that come from hosts, of all that are looked up.
class HostShares {
 public:
  explicit HostShares(const Task& task) : task_(task) {
    for (const Table& table : task.tables) {
      curves_.push_back(popularity_of(table));
      all_ += bytes_of(table);
      size_ += static_cast<double>(table.size_bytes());
    }
    hbm_ = static_cast<double>(task.memory_bytes) * task.devices;
  }

  /// [tables]: shares of their rows that are in HBM, of which there is `part`.
  [[nodiscard]] std::vector<double> whole_tables_in(double part) const {
    std::vector<double> shares(task_.tables.size(), 0.0);
    std::vector<std::size_t> order = count_up<std::size_t>(task_.tables.size());
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t t) {
      const Table& table = task_.tables[t];
      return bytes_of(table) / static_cast<double>(table.size_bytes());
    });
    double left = part * hbm_;
    for (const std::size_t t : order) {
      const auto size = static_cast<double>(task_.tables[t].size_bytes());
      if (size > left) continue;
      left -= size;
      shares[t] = 1.0;
    }
    return shares;
  }

  [[nodiscard]] std::vector<double> one_ratio_in(double part) const {
    return std::vector<double>(task_.tables.size(), part * hbm_ / size_);
  }

  [[nodiscard]] double from_host(const std::vector<double>& shares) const {
    double from_host = 0.0;
    for (std::size_t t = 0; t < curves_.size(); ++t) {
      const double rows = shares[t] * static_cast<double>(task_.tables[t].rows);
      from_host += bytes_of(task_.tables[t]) * (1.0 - share_of_hottest(curves_[t], rows));
    }
    return from_host / all_;
  }

  [[nodiscard]] double least() const {
    struct Rows {
      double size;
      double bytes;
    };
    std::vector<Rows> rows;
    for (std::size_t t = 0; t < curves_.size(); ++t) {
      const Table& table = task_.tables[t];
      PopularRows before;
      for (const PopularRows& point : curves_[t]) {
        rows.push_back({(point.rows - before.rows) * row_bytes(table),
                        (point.share - before.share) * bytes_of(table)});
        before = point;
      }
    }
    std::ranges::stable_sort(rows, std::ranges::greater(),
                             [](const Rows& of) { return of.bytes / of.size; });
    double left = hbm_;
    double from_host = all_;
    for (const auto& [size, bytes] : rows) {
      const double in_hbm = std::min(size, left);
      left -= in_hbm;
      from_host -= bytes * in_hbm / size;
    }
    return std::max(0.0, from_host) / all_;
  }

  /// Replicas are in HBM.
  [[nodiscard]] double of_plan(const Plan& plan, const PlanCost& cost) const {
    double from_host = 0.0;
    for (std::size_t s = 0; s < plan.slices.size(); ++s) {
      const TableSlice& slice = plan.slices[s];
      const auto t = static_cast<std::size_t>(slice.table);
      const Table& table = task_.tables[t];
      const double part = static_cast<double>(slice.dim) / table.dim *
                          lookup_share(table, slice.first_row, slice.rows);
      const double rows = cost.hbm_shares[s] * static_cast<double>(table.rows);
      from_host += part * bytes_of(table) * (1.0 - share_of_hottest(curves_[t], rows));
    }
    return from_host / all_;
  }

 private:
  [[nodiscard]] static double row_bytes(const Table& table) {
    return static_cast<double>(table.size_bytes()) / static_cast<double>(table.rows);
  }
  [[nodiscard]] double bytes_of(const Table& table) const {
    return table.pooling_factor * row_bytes(table);
  }

  const Task& task_;
  std::vector<std::vector<PopularRows>> curves_;
  double all_ = 0.0;
  double size_ = 0.0;
  double hbm_ = 0.0;
};

/// Rules cannot say that none of the rows are in HBM.
constexpr double kLeastShare = 1e-9;

Task with_shares(Task task, const std::vector<double>& shares) {
  for (std::size_t t = 0; t < shares.size(); ++t) {
    TableRules& rules = task.tables[t].rules;
    if (shares[t] == 1.0) {
      rules.keep_in_hbm = true;
    } else {
      rules.hbm_share = std::max(shares[t], kLeastShare);
    }
  }
  return task;
}

/// `shares_in`: of the rows of tables, in a part of all HBM. Devices may lack room for all that HBM
/// has room for as a whole, so it is the largest part with which there is a plan.
template <typename SharesIn>
PlanCost cost_with_shares(const Planner& planner, const Task& task, const SharesIn& shares_in) {
  std::string why;
  for (const double part : {1.0, 0.98, 0.95, 0.9, 0.8, 0.7, 0.5}) {
    const PlanResult result = planner.plan(with_shares(task, shares_in(part)));
    if (result.plan) return result.cost;
    why = result.infeasible->message;
  }
  throw Error("there is no plan even with half the HBM for rows: " + why);
}

double all_fetch_ms(const PlanCost& cost) {
  double sum = 0.0;
  for (const DeviceCost& device : cost.devices) sum += device.fetch_ms;
  return sum;
}

/// Plans of another way over ours.
class Ratios {
 public:
  void add(const PlanCost& theirs, const PlanCost& ours) {
    fetch_.push_back(all_fetch_ms(theirs) / all_fetch_ms(ours));
    cost_.push_back(theirs.cost_ms / ours.cost_ms);
  }
  [[nodiscard]] std::string text(const char* name) const {
    return std::string("* ") + name + ": fetching " + of(fetch_) + ", cost " + of(cost_) + '\n';
  }

 private:
  [[nodiscard]] static std::string of(const std::vector<double>& ratios) {
    const auto [least, most] = std::ranges::minmax(ratios);
    return three_digits(geometric_mean(ratios)) + " (" + three_digits(least) + " to " +
           three_digits(most) + ")";
  }

  std::vector<double> fetch_;
  std::vector<double> cost_;
};

double most_fetch_ms(const PlanCost& cost) {
  return std::ranges::max(cost.devices, {}, &DeviceCost::fetch_ms).fetch_ms;
}

void report_hosts(const HostOptions& options, std::ostream& out) {
  PlannerOptions planning{.effort = effort_from_name(options.effort)};
  const Planner planner(builtin_weights(), planning);
  const Planner recshard(builtin_weights(), {.algorithm = Algorithm::kRecshard});
  MarkdownTable table({"case", "devices", "GiB", "whole", "one", "least", "plan", "plan / least",
                       "static: fetch ms", "cost ms", "whole ms", "one ms", "recshard ms",
                       "lru: fetch ms", "cost ms", "search ms"});
  std::vector<double> times;
  std::vector<double> over;
  Ratios of_whole;
  Ratios of_one;
  Ratios of_recshard;
  const HostMemory host{.bytes = bytes_from_gib(kHostGib), .link_gb_s = options.link_gb_s};
  for (const auto& [name, task] : table_set_cases(options.cases, host)) {
    const double times_hbm = static_cast<double>(total_bytes(task)) /
                             (static_cast<double>(task.memory_bytes) * task.devices);
    if (times_hbm <= 1.0 || times_hbm > kMostTimesHbm) continue;
    const HostShares shares(task);
    std::vector<std::string> cells{name, std::to_string(task.devices),
                                   three_digits(gib_from_bytes(total_bytes(task)))};
    const double whole = shares.from_host(shares.whole_tables_in(1.0));
    const double one = shares.from_host(shares.one_ratio_in(1.0));
    const double least = shares.least();
    for (const double share : {whole, one, least}) cells.push_back(percent(share));
    double search_ms = 0.0;
    for (const HostPolicy policy : {HostPolicy::kStatic, HostPolicy::kLru}) {
      Task hosted = task;
      hosted.host.policy = policy;
      const PlanResult result = planner.plan(hosted);
      if (!result.plan) throw Error(name + ": " + result.infeasible->message);
      if (policy == HostPolicy::kStatic) {
        const double of_plan = shares.of_plan(*result.plan, result.cost);
        cells.push_back(percent(of_plan));
        cells.push_back(three_digits(of_plan / least));
        times.push_back(std::min(whole, one) / of_plan);
        over.push_back(of_plan / least);
      }
      cells.push_back(three_digits(most_fetch_ms(result.cost)));
      cells.push_back(three_digits(result.cost.cost_ms));
      if (policy == HostPolicy::kStatic) {
        const auto compare = [&](const PlanCost& other, Ratios& ratios) {
          cells.push_back(three_digits(other.cost_ms));
          ratios.add(other, result.cost);
        };
        compare(cost_with_shares(planner, hosted,
                                 [&](double part) { return shares.whole_tables_in(part); }),
                of_whole);
        compare(cost_with_shares(planner, hosted,
                                 [&](double part) { return shares.one_ratio_in(part); }),
                of_one);
        const PlanResult other = recshard.plan(hosted);
        if (!other.plan) throw Error(name + ": " + other.infeasible->message);
        compare(other.cost, of_recshard);
      }
      search_ms = std::max(search_ms, result.stats.search_ms);
    }
    cells.push_back(three_digits(search_ms));
    table.add_row(std::move(cells));
  }
  out << context_block(machine_context()) << '\n' << table.str();
  if (times.empty()) return;
  out << "\nGeometric means of " << times.size() << " cases: plans have "
      << three_digits(geometric_mean(times))
      << " times fewer bytes of lookups from hosts than the better of whole tables and one ratio, "
         "and "
      << three_digits(geometric_mean(over))
      << " times the least.\n\nSum of all devices' fetching and cost, over those of the plans with "
         "static rows:\n\n"
      << of_whole.text("whole tables") << of_one.text("one ratio") << of_recshard.text("RecShard");
}

}  // namespace

void add_host_command(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<HostOptions>();
  CLI::App* const command = program.add_subcommand(
      "host", "Tables that are larger than all HBM: share that comes from hosts' memory");
  command->footer(kHostFooter);
  add_table_set_options(*command, options->cases);
  const command_line::OptionGroup general(*command);
  general.add("--link-gb-s", options->link_gb_s, "Bandwidth between a device and its host")
      ->check(CLI::Range(kLeastGbPerSecond, kMostGbPerSecond));
  general.add("--effort", options->effort, "Effort of the search: fast, default, thorough");
  command_line::run_if_given(*command, chosen, options, report_hosts);
}

}  // namespace neuroshard::bench
