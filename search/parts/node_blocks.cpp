#include "search/parts/node_blocks.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "core/plans/equal_blocks.h"
#include "core/tables/table_kind.h"
#include "core/tables/table_rules.h"
#include "search/parts/device_loads.h"
#include "search/parts/even_blocks.h"

namespace neuroshard {
namespace {

// So many of the dearest tables may be in grids, for nothing but to make nodes alike.
constexpr std::size_t kMostGrids = 8;

/// Columns of a table, for the devices of one node.
struct NodePiece {
  TableSlice slice;  ///< With all rows.
  double ms = 0.0;   ///< Of each device.
  std::int64_t bytes = 0;
};

struct NodePlacement {
  std::vector<std::pair<NodePiece, std::size_t>> pieces;  ///< With their nodes.
  double most_ms = std::numeric_limits<double>::infinity();
};

class NodePlacer {
 public:
  NodePlacer(const Backend& backend, const Task& task, std::int64_t room_bytes)
      : task_(task),
        price_(*backend.kind_price(ShardingKind::kTableRow)),
        group_(block_groups(task).back()),
        room_bytes_(room_bytes) {}

  [[nodiscard]] std::size_t nodes() const {
    return static_cast<std::size_t>(task_.devices / group_);
  }
  [[nodiscard]] int group() const { return group_; }

  [[nodiscard]] NodePiece piece(std::uint32_t t, int first_column, int dim) const {
    const std::int64_t rows = task_.tables[t].rows;
    const TableSlice slice{static_cast<int>(t), first_column, dim, 0, rows};
    TableSlice block = slice;
    block.rows = rows_of_block(rows, group_);
    return {slice, busiest_block_ms(price_, task_, t, dim, group_), slice_bytes(task_, block)};
  }

  [[nodiscard]] bool may_be_grid(std::uint32_t t) const {
    const Table& table = task_.tables[t];
    const TableRules& rules = table.rules;
    const int slices = static_cast<int>(nodes());
    return may_be_sharded(task_, table, ShardingKind::kGrid) && !rules.no_split &&
           table.dim % (kDimMultiple * slices) == 0 && table.dim / slices >= least_width(table) &&
           (rules.max_slices == 0 ||
            slices * count_of_blocks(table.rows, group_) <= rules.max_slices);
  }

  /// `tables`, of which some of the first are cut by columns: dearest piece first, each to the node
  /// that has least to do.
  [[nodiscard]] NodePlacement place(std::span<const std::uint32_t> tables,
                                    std::size_t grids) const {
    std::vector<NodePiece> pieces;
    for (const std::uint32_t t : tables) {
      const bool grid = grids > 0 && may_be_grid(t);
      if (grid) --grids;
      const int dim = task_.tables[t].dim;
      const int width = grid ? dim / static_cast<int>(nodes()) : dim;
      for (int column = 0; column < dim; column += width) {
        pieces.push_back(piece(t, column, width));
      }
    }
    std::ranges::stable_sort(pieces, std::ranges::greater{}, &NodePiece::ms);
    NodePlacement placed;
    std::vector<double> ms(nodes(), 0.0);
    std::vector<std::int64_t> bytes(nodes(), 0);
    for (const NodePiece& one : pieces) {
      std::size_t best = nodes();
      for (std::size_t node = 0; node < nodes(); ++node) {
        if (bytes[node] + one.bytes > room_bytes_) continue;
        if (best == nodes() || ms[node] < ms[best]) best = node;
      }
      if (best == nodes()) {
        best = static_cast<std::size_t>(std::ranges::min_element(bytes) - bytes.begin());
      }
      ms[best] += one.ms;
      bytes[best] += one.bytes;
      placed.pieces.emplace_back(one, best);
    }
    placed.most_ms = std::ranges::max(ms);
    return placed;
  }

 private:
  const Task& task_;
  const KindPrice& price_;
  int group_;
  std::int64_t room_bytes_;
};

}  // namespace

void add_node_blocks(Plan& plan, const Backend& backend, const Task& task,
                     std::span<const std::uint32_t> tables) {
  const std::int64_t room =
      std::ranges::min(rooms_bytes(task)) - loads_of_devices(backend, task, plan).most_bytes();
  const NodePlacer placer(backend, task, room);
  std::vector<std::uint32_t> order(tables.begin(), tables.end());
  std::vector<double> ms(task.tables.size());
  for (const std::uint32_t t : order) ms[t] = placer.piece(t, 0, task.tables[t].dim).ms;
  // Not by where the task lists them.
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return ms[a] != ms[b] ? ms[a] > ms[b] : kind_of(task.tables[a]) < kind_of(task.tables[b]);
  });
  NodePlacement best;
  const auto most_grids = std::min<std::size_t>(
      kMostGrids, static_cast<std::size_t>(std::ranges::count_if(
                      order, [&](std::uint32_t t) { return placer.may_be_grid(t); })));
  for (std::size_t grids = 0; grids <= most_grids; ++grids) {
    NodePlacement placed = placer.place(order, grids);
    if (placed.most_ms < best.most_ms) best = std::move(placed);
  }
  for (const auto& [piece, node] : best.pieces) {
    add_blocks(plan, task, piece.slice, static_cast<int>(node) * placer.group(), placer.group());
  }
}

}  // namespace neuroshard
