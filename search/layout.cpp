#include "search/layout.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace neuroshard {

void sort_layout(Layout& layout) {
  std::sort(layout.begin(), layout.end(), [](const PlacedSlice& a, const PlacedSlice& b) {
    return std::tie(a.device, a.piece, a.table) < std::tie(b.device, b.piece, b.table);
  });
}

Layout layout_of(const PieceCatalog& catalog, const Plan& plan) {
  Layout layout;
  layout.reserve(plan.slices.size());
  for (std::size_t device = 0; device < plan.shards.size(); ++device) {
    for (const int index : plan.shards[device]) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      const auto table = static_cast<std::uint32_t>(slice.table);
      layout.push_back(
          {catalog.piece(table, slice.dim), table, static_cast<std::uint32_t>(device)});
    }
  }
  return layout;
}

void equalize_widths(const PieceCatalog& catalog, Layout& layout) {
  std::vector<std::uint32_t> narrowest(catalog.tables(), 0);
  for (const PlacedSlice& slice : layout) {
    narrowest[slice.table] = std::max(narrowest[slice.table], slice.piece);
  }
  // Columns of each table on each device, in units of its narrowest slice.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> units;
  for (const PlacedSlice& slice : layout) {
    units[{slice.table, slice.device}] += std::size_t{1} << (narrowest[slice.table] - slice.piece);
  }
  // A device's columns come in slices of the widest width that makes up all of a table's.
  std::vector<std::size_t> common(catalog.tables(), 0);
  for (const auto& [place, count] : units) common[place.first] |= count;
  Layout equal;
  equal.reserve(layout.size());
  for (const auto& [place, count] : units) {
    const auto [table, device] = place;
    const int joins = std::countr_zero(common[table]);
    equal.insert(equal.end(), count >> joins,
                 {narrowest[table] - static_cast<std::uint32_t>(joins), table, device});
  }
  sort_layout(equal);
  layout = std::move(equal);
}

bool exceeds_most_slices(const PieceCatalog& catalog, const Layout& layout) {
  std::vector<std::size_t> slices(catalog.tables(), 0);
  for (const PlacedSlice& slice : layout) {
    if (++slices[slice.table] > catalog.most_slices(slice.table)) return true;
  }
  return false;
}

Plan plan_of(const PieceCatalog& catalog, const Task& task, std::span<const std::uint32_t> original,
             const Layout& layout, std::span<const int> first_columns) {
  Plan plan;
  plan.slices = whole_tables(task);
  plan.slices.reserve(layout.size());
  plan.shards.resize(static_cast<std::size_t>(task.devices));

  // Slices of the layout by table, from left to right.
  std::vector<std::uint32_t> ends(catalog.tables() + 1, 0);
  std::vector<std::size_t> slices_on(plan.shards.size(), 0);
  for (const PlacedSlice& slice : layout) {
    ++ends[slice.table + 1];
    ++slices_on[slice.device];
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  for (std::size_t d = 0; d < plan.shards.size(); ++d) plan.shards[d].reserve(slices_on[d]);
  std::vector<std::uint32_t> by_table(layout.size());
  for (std::size_t i = layout.size(); i-- > 0;) {
    by_table[--ends[layout[i].table + 1]] = static_cast<std::uint32_t>(i);
  }
  // Entry t + 1 has become the beginning of table t.
  for (std::size_t table = 0; table < catalog.tables(); ++table) {
    const auto begin = by_table.begin() + ends[table + 1];
    const auto end =
        table + 1 < catalog.tables() ? by_table.begin() + ends[table + 2] : by_table.end();
    std::sort(begin, end, [&](std::uint32_t a, std::uint32_t b) {
      if (!first_columns.empty()) return first_columns[a] < first_columns[b];
      return std::tie(layout[a].piece, layout[a].device, a) <
             std::tie(layout[b].piece, layout[b].device, b);
    });
  }

  // Halve each table's slices, first ones first, until one has the width that is asked for next.
  std::vector<int> index_of(layout.size());
  struct Node {
    std::uint32_t piece;
    int index;
  };
  std::vector<Node> open;
  for (std::size_t i = 0; i < by_table.size();) {
    const std::uint32_t table = layout[by_table[i]].table;
    open.assign(1, {catalog.whole(table), static_cast<int>(original[table])});
    for (; i < by_table.size() && layout[by_table[i]].table == table; ++i) {
      while (open.back().piece != layout[by_table[i]].piece) {
        Node& node = open.back();
        node.piece = catalog.half(node.piece);
        const Node first = node;
        node.index = static_cast<int>(plan.slices.size());
        TableSlice& halved = plan.slices[static_cast<std::size_t>(first.index)];
        halved.dim = catalog.dim(node.piece);
        plan.slices.push_back(halved);
        plan.slices.back().first_column += halved.dim;
        open.push_back(first);
      }
      index_of[by_table[i]] = open.back().index;
      open.pop_back();
    }
  }
  for (std::size_t i = 0; i < layout.size(); ++i)
    plan.shards[layout[i].device].push_back(index_of[i]);
  return plan;
}

PlanCost cost_of(const Backend& backend, const PieceCatalog& catalog, const Task& task,
                 const Layout& layout) {
  std::vector<std::uint32_t> offsets(static_cast<std::size_t>(task.devices) + 1, 0);
  const auto pieces_of = [&](const PlacedSlice& slice) {
    const std::span<const std::uint32_t> bundle = catalog.tables_of_bundle(slice.piece);
    return bundle.empty() ? std::span(&slice.piece, 1) : bundle;
  };
  for (const PlacedSlice& slice : layout) {
    offsets[slice.device + 1] += static_cast<std::uint32_t>(pieces_of(slice).size());
  }
  for (std::size_t d = 0; d + 1 < offsets.size(); ++d) offsets[d + 1] += offsets[d];
  std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
  std::vector<std::uint32_t> ids(offsets.back());
  for (const PlacedSlice& slice : layout) {
    for (const std::uint32_t piece : pieces_of(slice)) ids[next[slice.device]++] = piece;
  }
  return cost_of_shards(backend, {.task = task,
                                  .embeddings = catalog.embeddings(),
                                  .dims = catalog.dims(),
                                  .memory = catalog.memory(),
                                  .lookups = catalog.lookups(),
                                  .shards = {offsets, ids}});
}

}  // namespace neuroshard
