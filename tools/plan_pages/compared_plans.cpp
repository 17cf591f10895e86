#include "tools/plan_pages/compared_plans.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "neuroshard/waiting.h"
#include "tools/plan_pages/first_screen.h"
#include "tools/plan_pages/plan_report.h"
#include "tools/plan_pages/table_work.h"

namespace neuroshard::tools {
namespace {

constexpr std::size_t kMostColumns = 4;  // Plans, this one among them.
constexpr std::size_t kMostChanged = 3;  // Tables that are listed.

using Figures = std::vector<std::pair<std::string, std::string>>;

Figures figures_of(const Task& task, const Plan& plan, const PlanCost& cost) {
  const std::vector<double> waits = waits_ms(cost);
  std::set<int> cut;
  for (const TableSlice& slice : plan.slices) {
    const bool whole = slice.dim == task.tables[static_cast<std::size_t>(slice.table)].dim &&
                       !is_row_block(task, slice);
    if (!whole) cut.insert(slice.table);
  }
  return {
      {"cost", format_ms(cost.cost_ms) + " ms"},
      {"devices", format_count(cost.devices.size())},
      {"decided by", decided_by(cost)},
      {"imbalance", format_number(imbalance(cost), 3)},
      {"longest wait", format_ms(waits.empty() ? 0.0 : std::ranges::max(waits)) + " ms"},
      {"fullest device", format_percent(fullest_device(task, cost).share, 0)},
      {"cut, replicated", format_count(cut.size()) + ", " + format_count(plan.replicas.size())}};
}

/// Where each table is: slices with their devices, and nothing of a replica.
class Places {
 public:
  using Place = std::tuple<int, int, int, std::int64_t, std::int64_t>;

  explicit Places(const ComparedPlan& of) : Places(of.task, of.plan) {}
  Places(const Task& task, const Plan& plan) : of_(task.tables.size()) {
    for (std::size_t device = 0; device < plan.shards.size(); ++device) {
      for (const int id : plan.shards[device]) {
        const TableSlice& slice = plan.slices[static_cast<std::size_t>(id)];
        of_[static_cast<std::size_t>(slice.table)].emplace(
            static_cast<int>(device), slice.first_column, slice.dim, slice.first_row, slice.rows);
      }
    }
  }
  [[nodiscard]] const std::set<Place>& of(std::size_t table) const { return of_[table]; }

 private:
  std::vector<std::set<Place>> of_;
};

/// [tables of `task`]: the table of `other` with the same name; of several with one name, the first
/// is the first.
std::vector<std::optional<std::size_t>> matched_tables(const Task& task, const Task& other) {
  std::map<std::string, std::vector<std::size_t>> named;
  for (std::size_t i = other.tables.size(); i-- > 0;) named[other.tables[i].name].push_back(i);
  std::vector<std::optional<std::size_t>> matched;
  for (const Table& table : task.tables) {
    std::vector<std::size_t>& left = named[table.name];
    matched.push_back(left.empty() ? std::nullopt : std::optional(left.back()));
    if (!left.empty()) left.pop_back();
  }
  return matched;
}

std::string figure_table(const PlanDocument& document, const std::vector<ComparedPlan>& others) {
  std::vector<Figures> columns = {figures_of(document.task, document.plan, document.cost)};
  std::vector<TableHead> heads = {{"", "text"}, {"this plan"}};
  for (const ComparedPlan& other : others) {
    if (columns.size() == kMostColumns) break;
    heads.push_back({other.name});
    columns.push_back(figures_of(other.task, other.plan, other.cost));
  }
  std::string html = table_begin(heads);
  for (std::size_t row = 0; row < columns[0].size(); ++row) {
    html += "<tr><th scope=\"row\" class=\"text\">" + columns[0][row].first;
    for (const Figures& column : columns) html += "<td>" + html_text(column[row].second);
    html += '\n';
  }
  if (others.size() == 1) {
    for (const auto& [name, here, there] : others.front().figures) {
      html += "<tr><th scope=\"row\" class=\"text\">" + html_text(name) + "<td>" + html_text(here) +
              "<td>" + html_text(there) + '\n';
    }
  }
  return html + "</tbody></table>\n";
}

/// Tables that are elsewhere, or cut otherwise, than in `other`, with what they are sorted by:
/// bytes that are moved, or milliseconds.
std::vector<std::pair<double, int>> changed_tables(const PlanDocument& document,
                                                   const ComparedPlan& other,
                                                   const std::vector<double>& table_ms) {
  std::vector<std::pair<double, int>> changed;
  if (document.moves) {
    std::map<int, double> bytes;
    for (const TableMove& move : document.moves->moves) {
      bytes[move.columns.table] += static_cast<double>(move.bytes);
    }
    for (const auto& [table, moved] : bytes) changed.emplace_back(moved, table);
  } else {
    const Places here(document.task, document.plan);
    const Places there(other);
    const auto matched = matched_tables(document.task, other.task);
    for (std::size_t table = 0; table < document.task.tables.size(); ++table) {
      if (matched[table] && here.of(table) == there.of(*matched[table])) continue;
      changed.emplace_back(table_ms[table], static_cast<int>(table));
    }
  }
  std::ranges::stable_sort(changed, std::greater<>(), &std::pair<double, int>::first);
  return changed;
}

}  // namespace

std::string comparison_panel(const PlanDocument& document, const std::vector<ComparedPlan>& others,
                             const std::vector<double>& table_ms) {
  if (others.empty()) return {};
  const ComparedPlan& other = others.front();
  std::vector<std::pair<double, int>> changed = changed_tables(document, other, table_ms);
  std::string html =
      panel_begin("compared", others.size() > 1 ? "Beside other plans" : "Beside " + other.name);
  html += figure_table(document, others);
  html += "<p class=\"note\">" + counted(changed.size(), "table");
  if (document.moves) {
    html += " moved, " + format_bytes(document.moves->moved_bytes) + " in " +
            counted(document.moves->moves.size(), "move");
  } else {
    html += " placed otherwise in " + html_text(other.name);
  }
  html += changed.size() > kMostChanged ? "; the first of them:</p>\n" : "</p>\n";
  if (changed.empty()) return html + "</section>\n";

  const ShardingWords here(document.task, document.plan);
  const ShardingWords there(other.task, other.plan);
  const auto matched = matched_tables(document.task, other.task);
  const auto words_there = [&](int table) {
    const std::optional<std::size_t> before = matched[static_cast<std::size_t>(table)];
    return before ? there.of(static_cast<int>(*before)) : "not there";
  };
  // Tables whose words differ come first: slices of others changed places on the same devices.
  std::stable_partition(changed.begin(), changed.end(), [&](const std::pair<double, int>& table) {
    return here.of(table.second) != words_there(table.second);
  });
  html += table_begin({{"table", "text"}, {other.name, "text"}, {"this plan", "text"}});
  for (std::size_t i = 0; i < std::min(kMostChanged, changed.size()); ++i) {
    const int table = changed[i].second;
    html += "<tr><th scope=\"row\" class=\"text name\">" +
            html_text(table_label(document.task, table)) + "<td class=\"text\">" +
            words_there(table) + "<td class=\"text\">" + here.of(table) + '\n';
  }
  return html + "</tbody></table>\n</section>\n";
}

}  // namespace neuroshard::tools
