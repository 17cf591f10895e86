#include "neuroshard/plan_check.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/enum_names.h"
#include "core/base/message_text.h"
#include "core/plans/column_split.h"
#include "core/plans/deduplicated_task.h"
#include "core/plans/host_rows.h"
#include "core/plans/hot_rows.h"
#include "core/plans/sharding_kinds.h"
#include "core/plans/slice_tiling.h"
#include "core/tables/table_groups.h"
#include "core/tables/table_label.h"
#include "core/tables/table_rules.h"

namespace neuroshard {
namespace {

constexpr const char* kPlaceOnce = "place each slice once";
constexpr const char* kMoreMemory = "move slices to other devices, or give more memory";

/// Without the tables that the task lacks.
std::vector<int> tables_of(const Task& task, std::vector<int> listed) {
  std::erase_if(listed, [&](int table) { return !has_table(task, table); });
  return listed;
}

/// As split_columns(), but a split that is impossible is listed and appends an empty slice.
std::vector<TableSlice> split_as_far_as_possible(const HalvedPlan& plan, const Task& task,
                                                 std::vector<PlanProblem>& problems) {
  std::vector<TableSlice> slices = whole_tables(task);
  for (std::size_t step = 0; step < plan.column_splits.size(); ++step) {
    const int index = plan.column_splits[step];
    std::optional<PlanProblem> problem = halve(slices, step, index);
    if (!problem) continue;
    const bool of_an_earlier_one = index >= 0 && static_cast<std::size_t>(index) < slices.size() &&
                                   slices[static_cast<std::size_t>(index)].dim == 0;
    slices.push_back({problem->table, 0, 0, 0, 0});
    if (!of_an_earlier_one) problems.push_back(std::move(*problem));
  }
  return slices;
}

class ShardChecker {
  using Kind = PlanProblem::Kind;

 public:
  ShardChecker(const Task& task, const std::vector<TableSlice>& slices,
               const std::vector<int>& replicas, std::vector<PlanProblem>& problems)
      : task_(task),
        slices_(slices),
        replicas_(replicas),
        problems_(problems),
        holder_of_(slices.size(), -1) {
    replica_bytes_ =
        replicas_memory(task, {.slices = {}, .shards = {}, .replicas = tables_of(task, replicas)})
            .total_bytes();
  }

  void check_shard(int device, const std::vector<int>& shard) {
    std::int64_t bytes = replica_bytes_;
    const std::string label = "shard " + std::to_string(device) + ": ";
    for (const int slice : shard) {
      if (slice < 0 || static_cast<std::size_t>(slice) >= slices_.size()) {
        add(Kind::kSlice, device, slice, -1, label + "there is no slice " + std::to_string(slice),
            "there are " + std::to_string(slices_.size()));
        continue;
      }
      const TableSlice& held = slices_[static_cast<std::size_t>(slice)];
      int& holder = holder_of_[static_cast<std::size_t>(slice)];
      if (holder >= 0) {
        add(Kind::kSlice, device, slice, table_of_problem(held),
            label + "slice " + std::to_string(slice) + " is already in shard " +
                std::to_string(holder),
            kPlaceOnce);
        continue;
      }
      holder = device;
      if (lies_in_its_table(held, task_)) bytes += slice_bytes(task_, held);
    }
    bytes_.push_back(bytes);
  }

  void check_that_all_are_placed() {
    for (std::size_t slice = 0; slice < slices_.size(); ++slice) {
      if (holder_of_[slice] >= 0 || slices_[slice].dim == 0) continue;
      add(Kind::kSlice, -1, static_cast<int>(slice), table_of_problem(slices_[slice]),
          "slice " + std::to_string(slice) + " is on no device", kPlaceOnce);
    }
  }

  void check_memory(const std::vector<std::vector<int>>& shards) {
    if (task_.host.bytes > 0) {
      if (problems_.empty()) check_hosted(shards);
      return;
    }
    const std::vector<std::int64_t> rooms = rooms_bytes(task_);
    for (std::size_t device = 0; device < std::min(bytes_.size(), rooms.size()); ++device) {
      if (bytes_[device] <= rooms[device]) continue;
      add(Kind::kMemory, static_cast<int>(device), -1, -1,
          "device " + std::to_string(device) + " needs " + format_bytes(bytes_[device]) + ", " +
              format_bytes(bytes_[device] - rooms[device]) + " more than it has room for",
          kMoreMemory);
    }
  }

  void check_rules() {
    std::vector<int> slices_of(task_.tables.size(), 0);
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      const TableSlice& slice = slices_[i];
      if (!lies_in_its_table(slice, task_)) continue;
      ++slices_of[static_cast<std::size_t>(slice.table)];
      const Table& table = task_.tables[static_cast<std::size_t>(slice.table)];
      const TableRules& rules = table.rules;
      const auto label = [&] {
        return label_of(task_, slice.table) + ": slice " + std::to_string(i) + " ";
      };
      if (slice.dim < least_width(table)) {
        add(Kind::kRule, holder_of_[i], static_cast<int>(i), slice.table,
            label() + "has " + std::to_string(slice.dim) + " columns, but its rule min_width is " +
                std::to_string(rules.min_width),
            "split the table less");
      }
      if (holder_of_[i] >= 0 && !rules.allow(holder_of_[i], task_.devices_per_node)) {
        add(Kind::kRule, holder_of_[i], static_cast<int>(i), slice.table,
            label() + "is on device " + std::to_string(holder_of_[i]) +
                ", where its rules do not let it be" + rules_text(rules),
            "move it to another device");
      }
    }
    check_rules_of_replicas();
    for (std::size_t table = 0; table < slices_of.size(); ++table) {
      const TableRules& rules = task_.tables[table].rules;
      const int most = rules.no_split ? 1 : rules.max_slices;
      if (most == 0 || slices_of[table] <= most) continue;
      add(Kind::kRule, -1, -1, static_cast<int>(table),
          label_of(task_, static_cast<int>(table)) + ": is in " +
              counted(static_cast<std::uint64_t>(slices_of[table]), "slice") +
              (rules.no_split ? ", but its rule is no_split"
                              : ", but its rule max_slices is " + std::to_string(most)),
          "split the table less");
    }
    if (any_limits_kinds(task_)) check_kinds();
    if (!task_.groups.empty()) check_groups();
  }

 private:
  /// Caches have copies of rows in the host's memory, so that sums of bytes do not tell what fits.
  void check_hosted(const std::vector<std::vector<int>>& shards) {
    const HostedPlan hosted =
        hosted_plan(task_, {.slices = slices_, .shards = shards, .replicas = replicas_});
    for (std::size_t device = 0; device < hosted.devices.size(); ++device) {
      const std::int64_t missing = hosted.devices[device].missing_bytes;
      if (missing == 0) continue;
      add(Kind::kMemory, static_cast<int>(device), -1, -1,
          "device " + std::to_string(device) + " lacks " + format_bytes(missing) +
              " of HBM or host memory",
          kMoreMemory);
    }
  }

  /// Checks tables whose slices are all on devices, and replicated ones.
  void check_kinds() {
    std::vector<std::vector<HeldSlice>> held(task_.tables.size());
    std::vector<bool> known(task_.tables.size(), true);
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      if (!has_table(task_, slices_[i].table)) continue;
      const auto table = static_cast<std::size_t>(slices_[i].table);
      held[table].push_back({slices_[i], holder_of_[i]});
      known[table] = known[table] && holder_of_[i] >= 0 && lies_in_its_table(slices_[i], task_);
    }
    for (const int table : replicas_) {
      if (has_table(task_, table)) check_kinds_of(table, {});
    }
    for (std::size_t table = 0; table < held.size(); ++table) {
      if (known[table] && !held[table].empty()) {
        check_kinds_of(static_cast<int>(table), held[table]);
      }
    }
  }

  /// `held`: nothing if it is replicated.
  void check_kinds_of(int table, const std::vector<HeldSlice>& held) {
    const TableRules& rules = task_.tables[static_cast<std::size_t>(table)].rules;
    if (rules.kinds.empty() || task_.devices == 1) return;
    const std::vector<ShardingKind> kinds =
        held.empty() ? std::vector{ShardingKind::kReplicate} : kinds_of_slices(task_, held);
    if (std::ranges::any_of(kinds, [&](ShardingKind kind) { return rules.allow(kind); })) return;
    add(Kind::kRule, -1, -1, table,
        label_of(task_, table) + ": is of kind " + listed_names(kinds) +
            ", but its rule kinds allows " + listed_names(rules.kinds),
        "shard it in one of these ways");
  }

  /// A replicated table is on every device.
  void check_groups() {
    std::vector<std::set<int>> holders(task_.tables.size());
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      if (holder_of_[i] < 0 || !lies_in_its_table(slices_[i], task_)) continue;
      holders[static_cast<std::size_t>(slices_[i].table)].insert(holder_of_[i]);
    }
    for (const int table : replicas_) {
      if (!has_table(task_, table)) continue;
      for (int device = 0; device < task_.devices; ++device) {
        holders[static_cast<std::size_t>(table)].insert(device);
      }
    }
    for (std::size_t g = 0; g < task_.groups.size(); ++g) {
      const TableGroup& group = task_.groups[g];
      std::map<int, std::vector<int>> tables_on;  // By device.
      for (const int table : group.tables) {
        for (const int device : holders[static_cast<std::size_t>(table)]) {
          tables_on[device].push_back(table);
        }
      }
      group.keep == Keep::kTogether ? check_together(g, tables_on) : check_apart(g, tables_on);
    }
  }

  void check_together(std::size_t group, const std::map<int, std::vector<int>>& tables_on) {
    if (tables_on.size() < 2) return;
    const auto& [device, tables] = *tables_on.begin();
    const auto& [other_device, other_tables] = *tables_on.rbegin();
    add(Kind::kRule, -1, -1, other_tables.front(),
        group_label(task_, group) + ": keeps its tables together, but they are on " +
            counted(tables_on.size(), "device") + ", " + label_of(task_, tables.front()) +
            " on device " + std::to_string(device) + " and " +
            label_of(task_, other_tables.front()) + " on device " + std::to_string(other_device),
        "move all of them to one device");
  }

  void check_apart(std::size_t group, const std::map<int, std::vector<int>>& tables_on) {
    for (const auto& [device, tables] : tables_on) {
      if (tables.size() < 2) continue;
      add(Kind::kRule, device, -1, tables[1],
          group_label(task_, group) + ": keeps its tables apart, but device " +
              std::to_string(device) + " holds " + counted(tables.size(), "table") + " of it, " +
              label_of(task_, tables[0]) + " and " + label_of(task_, tables[1]) +
              (tables.size() > 2 ? " among them" : ""),
          "move all but one of them to other devices");
    }
  }

  void check_rules_of_replicas() {
    for (const int table : replicas_) {
      if (!has_table(task_, table)) continue;
      const TableRules& rules = task_.tables[static_cast<std::size_t>(table)].rules;
      for (int device = 0; device < task_.devices; ++device) {
        if (rules.allow(device, task_.devices_per_node)) continue;
        add(Kind::kRule, device, -1, table,
            label_of(task_, table) + ": is replicated, and so on device " + std::to_string(device) +
                ", where its rules do not let it be" + rules_text(rules),
            "do not replicate it");
        break;
      }
    }
  }

  /// -1 if there is no such table.
  [[nodiscard]] int table_of_problem(const TableSlice& slice) const {
    return has_table(task_, slice.table) ? slice.table : -1;
  }

  void add(PlanProblem::Kind kind, int device, int slice, int table, std::string what,
           std::string remedy) {
    problems_.push_back({.kind = kind,
                         .device = device,
                         .slice = slice,
                         .table = table,
                         .what = std::move(what),
                         .remedy = std::move(remedy)});
  }

  const Task& task_;
  const std::vector<TableSlice>& slices_;
  const std::vector<int>& replicas_;
  std::int64_t replica_bytes_ = 0;  ///< Bytes of replicas on each device.
  std::vector<PlanProblem>& problems_;
  std::vector<int> holder_of_;       ///< Device of each slice; -1: none.
  std::vector<std::int64_t> bytes_;  ///< Bytes of each shard.
};

void check_shards(const std::vector<std::vector<int>>& shards,
                  const std::vector<TableSlice>& slices, const std::vector<int>& replicas,
                  const Task& task, std::vector<PlanProblem>& problems) {
  if (shards.size() != static_cast<std::size_t>(task.devices)) {
    problems.push_back({.kind = PlanProblem::Kind::kDevices,
                        .what = "is a plan of " + counted(shards.size(), "device") +
                                " for a task of " + std::to_string(task.devices),
                        .remedy = "give the task that it was made for, or plan anew"});
  }
  ShardChecker checker(task, slices, replicas, problems);
  for (std::size_t device = 0; device < shards.size(); ++device) {
    checker.check_shard(static_cast<int>(device), shards[device]);
  }
  checker.check_that_all_are_placed();
  checker.check_memory(shards);
  checker.check_rules();
}

}  // namespace

std::string PlanProblem::message() const { return what + "; " + remedy; }

std::string_view name_of(PlanProblem::Kind kind) { return name_or_unknown(kind); }

std::vector<PlanProblem> check_plan(const Plan& plan, const Task& task) {
  std::vector<PlanProblem> problems;
  add_tiling_problems(plan, task, problems);
  std::vector<PlanProblem> of_hot_rows;
  std::vector<int> known = tables_of(task, plan.deduplicated);
  std::ranges::sort(known);
  Plan replicated{.slices = {}, .shards = {}, .replicas = tables_of(task, plan.replicas)};
  for (const HotRows& hot : plan.hot_rows) {
    if (!has_table(task, hot.table) || hot_rows_problem_of(task, hot)) continue;
    replicated.hot_rows.push_back(hot);
    if (rules_allow_hot_rows(task, hot.table)) continue;
    of_hot_rows.push_back(
        {.kind = PlanProblem::Kind::kRule,
         .table = hot.table,
         .what = label_of(task, hot.table) +
                 ": has hot rows on every device, which its rules or groups do not allow",
         .remedy = "leave the table out of hot_rows"});
  }
  const HotRowsSplit split(task, replicated);
  const DeduplicatedTask deduplicated(split.task(), known);
  check_shards(plan.shards, plan.slices, split.plan().replicas, deduplicated.task(), problems);
  problems.insert(problems.end(), of_hot_rows.begin(), of_hot_rows.end());
  return problems;
}

std::vector<PlanProblem> check_plan(const HalvedPlan& plan, const Task& task) {
  std::vector<PlanProblem> problems;
  const std::vector<TableSlice> slices = split_as_far_as_possible(plan, task, problems);
  const DeduplicatedTask deduplicated(task);
  check_shards(plan.shards, slices, {}, deduplicated.task(), problems);
  return problems;
}

}  // namespace neuroshard
