#include "search/parts/column_parts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/tables/table_rules.h"
#include "search/parts/table_loads.h"

namespace neuroshard {
namespace {

// A task with parts has groups for pairs of parts; more groups than this are slow to heed.
constexpr std::size_t kMostGroups = 2000;

/// In units of kDimMultiple columns.
int units(int dim) { return dim / kDimMultiple; }

/// Whether parts of about equal width may be narrower than the widest one that halving leaves: it
/// ends for want of halves that are multiples of kDimMultiple, or rules allow one part more.
bool halves_badly(const Table& table) { return narrowest_columns(table) < least_widest_dim(table); }

/// The widest of so many parts.
int width_of(const Table& table, int parts) {
  return kDimMultiple * ((units(table.dim) + parts - 1) / parts);
}

/// At least `wanted` parts, at most as many as rules allow; 1 if that cannot be.
int number_of_parts(const Table& table, int wanted, bool equal_widths) {
  const int most = most_column_parts(table);
  int parts = std::min(wanted, most);
  while (equal_widths && parts <= most && units(table.dim) % parts != 0) ++parts;
  return parts > most ? 1 : parts;
}

/// Widths of so many parts, about equal.
std::vector<int> widths_of_parts(const Table& table, int parts) {
  std::vector<int> dims;
  int column = 0;
  for (int i = 0; i < parts; ++i) {
    dims.push_back(kDimMultiple * (units(table.dim) * (i + 1) / parts) - column);
    column += dims.back();
  }
  return dims;
}

/// Adds parts of `table` as tables of their own. `columns_only`: none of them may be cut by rows if
/// others are not. Where rules rule grids out, none may in any case: the table would be one.
void add_parts(const Table& table, std::uint32_t listed, const std::vector<int>& dims,
               bool equal_widths, bool columns_only, PartialTask& cut) {
  int column = 0;
  for (const int dim : dims) {
    Table& part = cut.task.tables.emplace_back(table);
    part.dim = dim;
    if (table.rules.max_slices > 0) {
      part.rules.max_slices = table.rules.max_slices / static_cast<int>(dims.size());
    }
    part.rules.no_split |= equal_widths;
    if (columns_only) {
      part.rules.kinds = {ShardingKind::kColumn};
    } else if (!table.rules.allow(ShardingKind::kGrid)) {
      std::erase_if(part.rules.kinds, [](ShardingKind kind) {
        return kind == ShardingKind::kRow || kind == ShardingKind::kTableRow;
      });
    }
    cut.tables.push_back(listed);
    cut.first_columns.push_back(column);
    column += dim;
  }
}

/// `cut` becomes `part` with other tables and their groups: those of table t begin at
/// `first_parts[t]`. False if these groups are too many.
bool finish_parts(const PartialTask& part, std::vector<int> first_parts, PartialTask& cut) {
  first_parts.push_back(static_cast<int>(cut.task.tables.size()));
  std::vector<Table> tables = std::move(cut.task.tables);
  cut.task = part.task;
  cut.task.tables = std::move(tables);
  if (part.task.groups.empty()) return true;
  cut.task.groups = groups_of_parts(part.task.groups, first_parts);
  return cut.task.groups.size() <= kMostGroups;
}

}  // namespace

int most_column_parts(const Table& table) {
  const TableRules& rules = table.rules;
  if (rules.no_split || !rules.allow(ShardingKind::kColumn)) return 1;
  int most = units(table.dim);
  if (rules.min_width > 0) {
    most = units(table.dim) / std::max(1, units(least_width(table) + kDimMultiple - 1));
  }
  if (rules.max_slices > 0) most = std::min(most, rules.max_slices);
  return std::max(most, 1);
}

int narrowest_columns(const Table& table) { return width_of(table, most_column_parts(table)); }

int narrowest_part(const Table& table) {
  return halves_badly(table) ? std::min(narrowest_dim(table), narrowest_columns(table))
                             : narrowest_dim(table);
}

bool halves_are_all(const Table& table) {
  if (most_column_parts(table) == 1) return true;
  return narrowest_dim(table) == kDimMultiple && table.rules.max_slices == 0 &&
         slice_bytes(table, 2 * kDimMultiple) == 2 * slice_bytes(table, kDimMultiple);
}

std::optional<PartialTask> with_column_parts(const Backend& backend, const PartialTask& part,
                                             double share, bool equal_widths) {
  const Task& task = part.task;
  if (std::ranges::none_of(task.tables, halves_badly)) return std::nullopt;
  const ExchangePrices prices = exchange_prices(backend, task);
  const std::vector<double> tables_ms = operator_ms(backend, task, task.tables);
  const auto columns_ms = [&](std::size_t t) {
    return tables_ms[t] + prices.column_ms * task.tables[t].dim;
  };
  double all_ms = 0.0;
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    all_ms += columns_ms(t) + prices.ids_ms(task.tables[t].pooling_factor);
  }
  const double most_ms = share * all_ms / task.devices;
  const std::int64_t room = largest_room_bytes(task);

  PartialTask cut;
  std::vector<int> first_parts;
  bool any = false;
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    int parts = 1;
    if (halves_badly(table)) {
      // No more than there are columns, whatever the models say of a table.
      const double wanted = std::clamp(std::ceil(columns_ms(t) / most_ms), 1.0,
                                       static_cast<double>(units(table.dim)));
      parts = static_cast<int>(wanted);
      while (parts < units(table.dim) && slice_bytes(table, width_of(table, parts)) > room) ++parts;
      // Halving does it.
      if (width_of(table, parts) >= least_widest_dim(table)) parts = 1;
      parts = number_of_parts(table, parts, equal_widths);
      // Parts that may be in columns alone are of no use if they have no room: the table may have
      // some in blocks of rows.
      if (!table.rules.allow(ShardingKind::kGrid) &&
          slice_bytes(table, width_of(table, parts)) > room) {
        parts = 1;
      }
    }
    any |= parts > 1;
    first_parts.push_back(static_cast<int>(cut.task.tables.size()));
    if (parts > 1) {
      add_parts(table, part.tables[t], widths_of_parts(table, parts), equal_widths,
                !has_equal_devices(task), cut);
    } else {
      cut.task.tables.push_back(table);
      cut.tables.push_back(part.tables[t]);
      cut.first_columns.push_back(0);
    }
  }
  if (!any) return std::nullopt;
  if (!finish_parts(part, std::move(first_parts), cut)) return std::nullopt;
  return cut;
}

std::optional<PartialTask> with_parts_of_widths(const PartialTask& part,
                                                const std::vector<TableWidths>& widths,
                                                bool equal_widths) {
  PartialTask cut;
  std::vector<int> first_parts;
  bool any = false;
  for (std::size_t t = 0; t < part.task.tables.size(); ++t) {
    const Table& table = part.task.tables[t];
    first_parts.push_back(static_cast<int>(cut.task.tables.size()));
    const auto given = std::ranges::find(widths, part.tables[t], &TableWidths::table);
    if (given == widths.end()) {
      cut.task.tables.push_back(table);
      cut.tables.push_back(part.tables[t]);
      cut.first_columns.push_back(0);
      continue;
    }
    any = true;
    add_parts(table, part.tables[t], given->dims, equal_widths, true, cut);
  }
  if (!any || !finish_parts(part, std::move(first_parts), cut)) return std::nullopt;
  return cut;
}

void join_column_parts(const Task& task, const PartialTask& part, Plan& plan) {
  std::set<int> in_parts = tables_in_parts(part);
  for (const TableSlice& slice : plan.slices) {
    if (is_row_block(task, slice)) in_parts.erase(slice.table);
  }
  Plan joined;
  joined.replicas = std::move(plan.replicas);
  std::map<int, int> next_column;
  for (const std::vector<int>& shard : plan.shards) {
    std::vector<int>& of_device = joined.shards.emplace_back();
    std::map<int, std::size_t> slice_of;  // Of a table in parts, its slice here.
    for (const int index : shard) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      if (in_parts.contains(slice.table)) {
        const auto [known, first] = slice_of.try_emplace(slice.table, joined.slices.size());
        if (!first) {
          joined.slices[known->second].dim += slice.dim;
          continue;
        }
      }
      of_device.push_back(static_cast<int>(joined.slices.size()));
      joined.slices.push_back(slice);
    }
  }
  for (TableSlice& slice : joined.slices) {
    if (!in_parts.contains(slice.table)) continue;
    slice.first_column = next_column[slice.table];
    next_column[slice.table] += slice.dim;
  }
  plan = std::move(joined);
}

}  // namespace neuroshard
