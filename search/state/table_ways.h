#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/plans/sharding_kinds.h"
#include "core/tables/table_groups.h"
#include "neuroshard/task.h"
#include "search/bundled_task.h"
#include "search/state/shard_catalog.h"

namespace neuroshard {

/// How a slice of columns lies on devices.
enum class Way : std::uint8_t {
  kDevice,  ///< All rows on one device.
  kNode,    ///< Equal blocks of rows on the devices of a node.
  kAll,     ///< Equal blocks of rows on all devices.
  kReplica  ///< All of the table on every device.
};

/// Columns of a table, somewhere.
struct StateSlice {
  int table = 0;
  int width = 0;
  Way way = Way::kDevice;
  int place = 0;  ///< A device or a node; 0 of kAll.

  friend bool operator==(const StateSlice&, const StateSlice&) = default;
};

/// The price of row blocks of a table, `held` being all of its slices; null: models predict them.
/// The rule of SlicePrices.
[[nodiscard]] const KindPrice* price_of_blocks(const Backend& backend, const Task& task,
                                               const std::vector<HeldSlice>& held);

/// Which ways the planner may choose.
struct WayOptions {
  bool rows = true;           ///< kNode and kAll.
  bool replicas = true;       ///< Where the models price them.
  bool equal_widths = false;  ///< All slices of a table are as wide.
  bool halves = false;        ///< Widths are those of halves of halves of a table.
  /// [listed tables], or none. What comes with tables of a plan that runs:
  struct OfTable {
    std::optional<Way> only{};  ///< The way that it has to keep.
    bool any_widths = false;    ///< Halves or not.
  };
  std::span<const OfTable> of_tables{};
};

/// In which ways the rules and groups of a task leave each table to be sharded: compiled once, so
/// that a search looks at no rule.
class TableWays {
 public:
  /// `catalog`'s task. Borrows it.
  TableWays(ShardCatalog& catalog, const BundledTask& bundled, const WayOptions& options);

  struct OfTable {
    bool device = false;
    bool node = false;
    bool all = false;
    bool replica = false;
    int most_slices = 1;       ///< By kDevice.
    int most_node_slices = 1;  ///< Slices of columns, by kNode.
    int least_width = kDimMultiple;
    bool any_widths = false;  ///< Halves or not.
    bool any_device = true;   ///< kDevice and kNode: on each of them.
    std::vector<bool> devices{};
    std::vector<bool> nodes{};
    [[nodiscard]] bool may_be(Way way) const {
      switch (way) {
        case Way::kDevice:
          return device;
        case Way::kNode:
          return node;
        case Way::kAll:
          return all;
        case Way::kReplica:
          return replica;
      }
      return false;
    }
    [[nodiscard]] bool may_be_any() const { return device || node || all || replica; }
    [[nodiscard]] bool may_be_at(Way way, int place) const {
      if (any_device || way == Way::kAll) return true;
      return way == Way::kDevice ? devices[static_cast<std::size_t>(place)]
                                 : nodes[static_cast<std::size_t>(place)];
    }
  };
  [[nodiscard]] const OfTable& of(int table) const {
    return of_tables_[static_cast<std::size_t>(table)];
  }
  /// Whether two tables may not be on one device.
  [[nodiscard]] bool apart(int a, int b) const {
    return apart_.apart(static_cast<std::size_t>(a), static_cast<std::size_t>(b));
  }
  [[nodiscard]] bool any_apart() const { return !apart_.empty(); }
  [[nodiscard]] bool equal_widths() const { return options_.equal_widths; }
  [[nodiscard]] bool halves() const { return options_.halves; }
  [[nodiscard]] bool halves(int table) const { return options_.halves && !of(table).any_widths; }
  /// Whether a slice of a table may be so wide, as far as it alone is concerned.
  [[nodiscard]] bool may_be_wide(int table, int width) const;

  [[nodiscard]] int devices() const { return devices_; }
  /// Nodes that kNode chooses from; 0: nodes are no way of their own.
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] int devices_per_node() const { return per_node_; }
  /// Devices side by side that hold a slice.
  [[nodiscard]] int group(Way way) const {
    return way == Way::kDevice ? 1 : way == Way::kNode ? per_node_ : devices_;
  }
  /// Places of a way: devices, or nodes; 1 of kAll.
  [[nodiscard]] int places(Way way) const {
    return way == Way::kDevice ? devices_ : way == Way::kNode ? nodes_ : 1;
  }

  /// Equal blocks of the rows of a table: numbers of ShardCatalog::rows().
  struct Blocks {
    int count = 0;  ///< Few rows leave devices without one.
    int rows = 0;   ///< All but the last have it.
    int last = 0;
    std::vector<int> uneven{};  ///< [count] where rows are not looked up evenly, in their place.
    [[nodiscard]] int of(int block) const {
      if (!uneven.empty()) return uneven[static_cast<std::size_t>(block)];
      return block + 1 < count ? rows : last;
    }
  };
  /// `way`: kNode or kAll.
  [[nodiscard]] const Blocks& blocks(int table, Way way) const;

  /// Widths of a table that is cut into so many slices as equal as they can be, or fewer where its
  /// columns or rules allow no more; empty: it may not be sharded so.
  [[nodiscard]] std::vector<int> widths(int table, Way way, int slices) const;

 private:
  Blocks make_blocks(int table, Way way) const;

  ShardCatalog& catalog_;
  const Task& task_;
  int devices_;
  int per_node_;
  int nodes_ = 0;
  WayOptions options_;
  ApartTables apart_;
  std::vector<OfTable> of_tables_;
  mutable std::vector<std::unique_ptr<Blocks>> node_blocks_;  ///< [tables], made when asked for.
  mutable std::vector<std::unique_ptr<Blocks>> all_blocks_;
};

}  // namespace neuroshard
