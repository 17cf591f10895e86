#include "search/infeasibility/column_parts.h"

#include <algorithm>

#include "core/tables/table_rules.h"

namespace neuroshard {
namespace {

/// In units of kDimMultiple columns.
int units(int dim) { return dim / kDimMultiple; }

/// How many slices of columns rules let `table` have.
int most_column_parts(const Table& table) {
  const TableRules& rules = table.rules;
  if (rules.no_split || !rules.allow(ShardingKind::kColumn)) return 1;
  int most = units(table.dim) / std::max(1, units(least_width(table) + kDimMultiple - 1));
  if (rules.max_slices > 0) most = std::min(most, rules.max_slices);
  return std::max(most, 1);
}

/// The widest of so many parts.
int width_of(const Table& table, int parts) {
  return kDimMultiple * ((units(table.dim) + parts - 1) / parts);
}

}  // namespace

int narrowest_columns(const Table& table) { return width_of(table, most_column_parts(table)); }

bool halves_are_all(const Table& table) {
  if (most_column_parts(table) == 1) return true;
  return narrowest_dim(table) == kDimMultiple && table.rules.max_slices == 0 &&
         slice_bytes(table, 2 * kDimMultiple) == 2 * slice_bytes(table, kDimMultiple);
}

}  // namespace neuroshard
