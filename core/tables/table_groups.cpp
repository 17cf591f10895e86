#include "core/tables/table_groups.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "core/base/count_up.h"
#include "core/base/enum_names.h"
#include "core/base/fingerprint.h"
#include "core/base/message_text.h"
#include "core/plans/slice_tiling.h"
#include "core/tables/table_label.h"
#include "core/tables/table_rules.h"

namespace neuroshard {
namespace {

using GroupProblem = std::optional<std::string>;

// Sums of columns are counted with 32 bits here and there.
constexpr std::int64_t kMostBundleColumns = std::int64_t{1} << 30;

/// Sets of tables that are joined step by step; each is known by its lowest table.
class JoinedTables {
 public:
  explicit JoinedTables(std::size_t tables) : parent_(count_up<std::uint32_t>(tables)) {}
  std::uint32_t set_of(std::uint32_t table) {
    while (parent_[table] != table) table = parent_[table] = parent_[parent_[table]];
    return table;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t set_of_a = set_of(a);
    const std::uint32_t set_of_b = set_of(b);
    parent_[std::max(set_of_a, set_of_b)] = std::min(set_of_a, set_of_b);
  }

 private:
  std::vector<std::uint32_t> parent_;
};

void join_group(JoinedTables& sets, const TableGroup& group) {
  for (const int table : group.tables) {
    sets.join(static_cast<std::uint32_t>(group.tables.front()), static_cast<std::uint32_t>(table));
  }
}

JoinedTables tables_kept_together(const Task& task) {
  JoinedTables sets(task.tables.size());
  for (const TableGroup& group : task.groups) {
    if (group.keep == Keep::kTogether) join_group(sets, group);
  }
  return sets;
}

/// Whether a table of such a group may be of a kind: of none that puts it on all devices, where it
/// would meet all others. A node may have all.
bool may_be_in_group(const Task& task, Keep keep, ShardingKind kind) {
  using enum ShardingKind;
  if (kind == kTable || kind == kColumn) return true;
  const bool on_nodes =
      task.devices > task.devices_per_node && (kind == kTableRow || kind == kGrid);
  return keep == Keep::kApart && (kind == kPartRow || on_nodes);
}

GroupProblem membership_problem_of(const Task& task, const TableGroup& group) {
  if (name_of(group.keep) == "unknown") return "keep is none of the enumerators; give one";
  std::set<int> seen;
  for (const int table : group.tables) {
    if (!has_table(task, table)) {
      return "names table " + std::to_string(table) + ", but there are " +
             counted(task.tables.size(), "table") + "; count from 0";
    }
    if (!seen.insert(table).second) {
      return "names " + label_of(task, table) + " twice; name each table once";
    }
    const Table& of = task.tables[static_cast<std::size_t>(table)];
    if (!may_be_in_columns(task, of)) {
      return label_of(task, table) + " may by its rule kinds only be sharded as " +
             listed_names(of.rules.kinds) +
             ", but tables of groups have to be allowed whole or in slices; allow the kind table "
             "or column, or take it out of the group";
    }
  }
  if (group.tables.size() >= 2) return std::nullopt;
  return "names " + counted(group.tables.size(), "table") + "; give at least two";
}

/// The groups that keep `a` and `b` together: one that names both, or one of each.
std::string keeping_together(const Task& task, int a, int b) {
  std::size_t of_a = task.groups.size();
  std::size_t of_b = task.groups.size();
  for (std::size_t g = task.groups.size(); g-- > 0;) {
    const TableGroup& group = task.groups[g];
    if (group.keep != Keep::kTogether) continue;
    const bool names_a = std::ranges::find(group.tables, a) != group.tables.end();
    const bool names_b = std::ranges::find(group.tables, b) != group.tables.end();
    if (names_a && names_b) return group_label(task, g) + " keeps";
    if (names_a) of_a = g;
    if (names_b) of_b = g;
  }
  return group_label(task, of_a) + " and " + group_label(task, of_b) + " keep";
}

/// Contradiction of a group that keeps apart tables of one bundle.
GroupProblem contradiction_of(const Task& task, std::size_t index, JoinedTables& together) {
  std::map<std::uint32_t, int> seen;  // By bundle.
  for (const int table : task.groups[index].tables) {
    const auto [other, is_new] =
        seen.try_emplace(together.set_of(static_cast<std::uint32_t>(table)), table);
    if (is_new) continue;
    return keeping_together(task, other->second, table) + " " + label_of(task, other->second) +
           " and " + label_of(task, table) + " together, but " + group_label(task, index) +
           " keeps them apart; take one of them out of a group";
  }
  return std::nullopt;
}

GroupProblem bundle_problem_of(const Task& task, const TableBundle& bundle) {
  const auto listed = [&] {
    return label_of(task, static_cast<int>(bundle[0])) + " and " +
           label_of(task, static_cast<int>(bundle[1])) +
           (bundle.size() > 2 ? " and " + counted(bundle.size() - 2, "more table") : "");
  };
  std::int64_t columns = 0;
  for (const std::uint32_t table : bundle) columns += task.tables[table].dim;
  if (columns > kMostBundleColumns) {
    return "groups keep " + listed() + " together, which have " + std::to_string(columns) +
           " columns; keep no more than 2^30 together";
  }
  if (!allowed_set(task, bundle).empty()) return std::nullopt;
  std::string rules;
  for (const std::uint32_t table : bundle) {
    const Table& of = task.tables[table];
    if (!of.rules.limit_devices()) continue;
    rules += (rules.empty() ? "" : ", ") + label_of(of, table) + rules_text(of.rules);
  }
  return "groups keep " + listed() +
         " together, but by their rules there is no device that may hold all of them: " + rules +
         "; loosen one of them";
}

std::uint64_t hash_of_numbers(std::string_view what, std::uint64_t first,
                              const std::vector<std::uint64_t>& numbers) {
  Fingerprint hash;
  hash.add(what);
  hash.add_number(first);
  for (const std::uint64_t number : numbers) hash.add_number(number);
  return hash.value();
}

/// Tables of a group, by indices into some list of tables.
struct KeptTables {
  Keep keep = Keep::kTogether;
  std::vector<std::uint32_t> tables;

  // NOLINTNEXTLINE(modernize-use-nullptr): a false alarm.
  friend auto operator<=>(const KeptTables&, const KeptTables&) = default;
};

std::size_t count_different(std::vector<std::uint64_t> numbers) {
  std::ranges::sort(numbers);
  return static_cast<std::size_t>(std::unique(numbers.begin(), numbers.end()) - numbers.begin());
}

// Colour refinement (Weisfeiler, Leman: The reduction of a graph to canonical form, 1968): tables
// by the groups that they are in, groups by their tables, again and again.
void refine(const std::vector<KeptTables>& groups, std::vector<std::uint64_t>& of_tables,
            int most_rounds) {
  std::vector<std::vector<std::uint64_t>> groups_of(of_tables.size());
  std::size_t different = count_different(of_tables);
  for (int round = 0; round < most_rounds; ++round) {
    for (std::vector<std::uint64_t>& of : groups_of) of.clear();
    for (const KeptTables& group : groups) {
      std::vector<std::uint64_t> members;
      for (const std::uint32_t table : group.tables) members.push_back(of_tables[table]);
      std::ranges::sort(members);
      const std::uint64_t of_group = hash_of_numbers(name_of(group.keep), members.size(), members);
      for (const std::uint32_t table : group.tables) groups_of[table].push_back(of_group);
    }
    for (std::size_t t = 0; t < of_tables.size(); ++t) {
      if (groups_of[t].empty()) continue;
      std::ranges::sort(groups_of[t]);
      of_tables[t] = hash_of_numbers("table", of_tables[t], groups_of[t]);
    }
    const std::size_t before = different;
    different = count_different(of_tables);
    if (different == before) break;
  }
}

/// The canonical form of tables that groups connect, by individualisation and refinement (McKay,
/// Piperno: Practical graph isomorphism, II, 2014), without their pruning: one of the tables that
/// refinement leaves alike is told apart from the others, each in turn, until all are; of the forms
/// at the ends the least is taken. As all are looked at, or their number is too large, the result
/// does not depend on how tables were listed.
class GroupPattern {
 public:
  GroupPattern(std::vector<KeptTables> groups, std::vector<std::uint64_t> of_tables)
      : groups_(std::move(groups)), of_tables_(std::move(of_tables)) {
    look(of_tables_);
  }

  /// Nothing if there were too many steps.
  [[nodiscard]] std::optional<std::uint64_t> value() const {
    if (steps_ > kMostSteps) return std::nullopt;
    std::vector<std::uint64_t> numbers = least_.first;
    for (const KeptTables& group : least_.second) {
      numbers.push_back(group.keep == Keep::kTogether ? 0 : 1);
      numbers.push_back(group.tables.size());
      numbers.insert(numbers.end(), group.tables.begin(), group.tables.end());
    }
    return hash_of_numbers("pattern", least_.first.size(), numbers);
  }

 private:
  static constexpr int kMostSteps = 500;
  using Form = std::pair<std::vector<std::uint64_t>, std::vector<KeptTables>>;

  void look(std::vector<std::uint64_t> numbers) {
    if (++steps_ > kMostSteps) return;
    refine(groups_, numbers, kMostGroupRounds);
    std::vector<std::uint64_t> sorted = numbers;
    std::ranges::sort(sorted);
    const auto alike = std::ranges::adjacent_find(sorted);
    if (alike == sorted.end()) return take(numbers, sorted);
    for (std::size_t t = 0; t < numbers.size(); ++t) {
      if (numbers[t] != *alike) continue;
      std::vector<std::uint64_t> told_apart = numbers;
      told_apart[t] = hash_of_numbers("chosen", numbers[t], {});
      look(std::move(told_apart));
    }
  }

  void take(const std::vector<std::uint64_t>& numbers, const std::vector<std::uint64_t>& sorted) {
    Form form{std::vector<std::uint64_t>(numbers.size()), groups_};
    for (std::size_t t = 0; t < numbers.size(); ++t) {
      form.first[place(sorted, numbers[t])] = of_tables_[t];
    }
    for (KeptTables& group : form.second) {
      for (std::uint32_t& table : group.tables) {
        table = static_cast<std::uint32_t>(place(sorted, numbers[table]));
      }
      std::ranges::sort(group.tables);
    }
    std::ranges::sort(form.second);
    if (!found_ || form < least_) least_ = std::move(form);
    found_ = true;
  }

  static std::size_t place(const std::vector<std::uint64_t>& sorted, std::uint64_t number) {
    return static_cast<std::size_t>(std::ranges::lower_bound(sorted, number) - sorted.begin());
  }

  std::vector<KeptTables> groups_;
  std::vector<std::uint64_t> of_tables_;
  Form least_;
  bool found_ = false;
  int steps_ = 0;
};

}  // namespace

std::string group_label(const Task& task, std::size_t index) {
  return label_of("group", index, task.groups[index].name);
}

std::string groups_text(const std::vector<TableGroup>& groups) {
  if (groups.empty()) return "";
  std::string text = counted(groups.size(), "group") + ":";
  const char* separator = " ";
  for (const Keep keep : {Keep::kTogether, Keep::kApart}) {
    std::size_t of_kind = 0;
    std::size_t tables = 0;
    for (const TableGroup& group : groups) {
      if (group.keep != keep) continue;
      ++of_kind;
      tables += group.tables.size();
    }
    if (of_kind == 0) continue;
    text.append(separator).append(std::to_string(of_kind)).append(" ");
    text.append(name_of(keep)).append(" (").append(counted(tables, "table")).append(")");
    separator = ", ";
  }
  return text;
}

std::optional<std::string> group_problem_of(const Task& task) {
  if (task.groups.empty()) return std::nullopt;
  for (std::size_t g = 0; g < task.groups.size(); ++g) {
    if (const GroupProblem problem = membership_problem_of(task, task.groups[g])) {
      return group_label(task, g) + ": " + *problem;
    }
  }
  JoinedTables together = tables_kept_together(task);
  for (std::size_t g = 0; g < task.groups.size(); ++g) {
    if (task.groups[g].keep != Keep::kApart) continue;
    if (GroupProblem problem = contradiction_of(task, g, together)) return problem;
  }
  for (const TableBundle& bundle : table_bundles(task)) {
    if (GroupProblem problem = bundle_problem_of(task, bundle)) return problem;
  }
  return std::nullopt;
}

std::vector<TableBundle> table_bundles(const Task& task) {
  if (std::ranges::none_of(task.groups,
                           [](const TableGroup& group) { return group.keep == Keep::kTogether; })) {
    return {};
  }
  JoinedTables together = tables_kept_together(task);
  std::map<std::uint32_t, TableBundle> bundles;
  for (std::uint32_t table = 0; table < task.tables.size(); ++table) {
    bundles[together.set_of(table)].push_back(table);
  }
  std::vector<TableBundle> found;
  for (auto& [first, bundle] : bundles) {
    if (bundle.size() > 1) found.push_back(std::move(bundle));
  }
  return found;
}

std::vector<TableBundle> tables_by_bundle(const Task& task) {
  std::vector<TableBundle> all(task.tables.size());
  for (std::uint32_t t = 0; t < all.size(); ++t) all[t] = {t};
  for (const TableBundle& bundle : table_bundles(task)) {
    for (const std::uint32_t t : bundle) all[t].clear();
    all[bundle.front()] = bundle;
  }
  std::erase_if(all, [](const TableBundle& tables) { return tables.empty(); });
  return all;
}

Task with_rules_of_groups(const Task& task) {
  Task with = task;
  for (const TableGroup& group : task.groups) {
    for (const int index : group.tables) {
      TableRules& rules = with.tables[static_cast<std::size_t>(index)].rules;
      std::vector<ShardingKind> kinds;
      for (const ShardingKind kind : all_sharding_kinds()) {
        if (rules.allow(kind) && may_be_in_group(task, group.keep, kind)) kinds.push_back(kind);
      }
      if (!kinds.empty()) rules.kinds = std::move(kinds);  // On one device any kind will do.
      rules.no_split |= group.keep == Keep::kTogether;
    }
  }
  return with;
}

DeviceSet allowed_set(const Task& task, const TableBundle& bundle) {
  DeviceSet allowed(static_cast<std::size_t>(task.devices), true);
  for (const std::uint32_t table : bundle) {
    const TableRules& rules = task.tables[table].rules;
    if (rules.limit_devices()) allowed.keep_those_in(allowed_set(rules, task));
  }
  return allowed;
}

bool share_a_group(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  auto of_a = a.begin();
  auto of_b = b.begin();
  while (of_a != a.end() && of_b != b.end()) {
    if (*of_a == *of_b) return true;
    *of_a < *of_b ? ++of_a : ++of_b;
  }
  return false;
}

ApartTables::ApartTables(const Task& task) {
  for (const TableGroup& group : task.groups) {
    if (group.keep != Keep::kApart) continue;
    groups_of_.resize(task.tables.size());
    for (const int table : group.tables) {
      groups_of_[static_cast<std::size_t>(table)].push_back(static_cast<std::uint32_t>(groups_));
    }
    ++groups_;
  }
}

// Connected parts are counted first, which refinement alone does not see.
std::vector<std::uint64_t> with_groups(const Task& task, std::vector<std::uint64_t> of_tables,
                                       int most_rounds) {
  if (task.groups.empty()) return of_tables;
  JoinedTables connected(task.tables.size());
  for (const TableGroup& group : task.groups) join_group(connected, group);
  std::vector<std::uint64_t> tables_of_set(task.tables.size(), 0);
  for (std::uint32_t t = 0; t < of_tables.size(); ++t) ++tables_of_set[connected.set_of(t)];
  for (std::uint32_t t = 0; t < of_tables.size(); ++t) {
    const std::uint64_t tables = tables_of_set[connected.set_of(t)];
    if (tables > 1) of_tables[t] = hash_of_numbers("table", of_tables[t], {tables});
  }
  std::vector<KeptTables> groups;
  for (const TableGroup& group : task.groups) {
    groups.push_back({group.keep, {group.tables.begin(), group.tables.end()}});
  }
  refine(groups, of_tables, most_rounds);
  return of_tables;
}

std::vector<std::uint64_t> group_patterns(const Task& task,
                                          const std::vector<std::uint64_t>& numbers) {
  JoinedTables connected(task.tables.size());
  for (const TableGroup& group : task.groups) join_group(connected, group);
  std::vector<std::vector<std::uint32_t>> groups_of(task.tables.size());
  for (std::uint32_t g = 0; g < task.groups.size(); ++g) {
    for (const int table : task.groups[g].tables) {
      groups_of[static_cast<std::size_t>(table)].push_back(g);
    }
  }
  // Tables that are alike, in the same groups, can take each other's place: one stands for all.
  std::map<std::uint32_t, std::map<std::pair<std::vector<std::uint32_t>, std::uint64_t>,
                                   std::vector<std::uint32_t>>>
      sets;
  for (std::uint32_t t = 0; t < numbers.size(); ++t) {
    if (!groups_of[t].empty()) {
      sets[connected.set_of(t)][{groups_of[t], numbers[t]}].push_back(t);
    }
  }
  std::vector<std::uint64_t> patterns;
  for (const auto& [first, kinds] : sets) {
    std::vector<std::uint64_t> of_tables;
    std::map<std::uint32_t, KeptTables> groups;
    for (const auto& [kind, tables] : kinds) {
      for (const std::uint32_t group : kind.first) {
        KeptTables& kept = groups[group];
        kept.keep = task.groups[group].keep;
        kept.tables.push_back(static_cast<std::uint32_t>(of_tables.size()));
      }
      of_tables.push_back(hash_of_numbers("tables", kind.second, {tables.size()}));
    }
    if (count_different(of_tables) == of_tables.size()) continue;
    std::vector<KeptTables> listed;
    listed.reserve(groups.size());
    for (auto& [index, group] : groups) listed.push_back(std::move(group));
    const GroupPattern pattern(std::move(listed), std::move(of_tables));
    if (const std::optional<std::uint64_t> value = pattern.value()) patterns.push_back(*value);
  }
  std::ranges::sort(patterns);
  return patterns;
}

}  // namespace neuroshard
