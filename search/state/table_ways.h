#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/tables/table_groups.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/task.h"
#include "search/bundled_task.h"
#include "search/state/shard_catalog.h"
#include "search/state/ways.h"

namespace neuroshard {

class PlanTerm;
class PlanLimit;

/// The ways that the planner may choose from.
struct WayOptions {
  bool rows = true;           ///< Blocks of rows, and tables that are deduplicated.
  bool parts = true;          ///< Blocks of rows on a part of a node.
  bool replicas = true;       ///< Where the models price them.
  bool equal_widths = false;  ///< All slices of a table are as wide.
  bool halves = false;        ///< Widths are those of halves of halves of a table.
  /// [listed tables], or none. Conditions on tables of a plan that runs:
  struct OfTable {
    std::optional<Way> only{};  ///< The way that it has to keep.
    bool any_widths = false;    ///< Halves or not.
  };
  std::span<const OfTable> of_tables{};
  StoragePrice storage{};
  std::span<const WayForm> forms = way_forms();  ///< In the order of Way, kMostForms at most.
  /// Beside those that all plans have.
  std::span<const PlanTerm* const> terms{};
  std::span<const PlanLimit* const> limits{};
};

/// A table of `dim` columns is cut into so many slices at most that have so many places: several of
/// a place where these are few, since wide slices slow down what is beside them.
[[nodiscard]] constexpr int most_slices_on(int places, int dim) {
  return std::max({2 * places, 16, dim / 32});
}

/// In which ways the rules and groups of a task leave each table to be sharded: compiled once, so
/// that a search looks at no rule.
class TableWays {
 public:
  /// `catalog`'s task. Borrows it.
  TableWays(ShardCatalog& catalog, const BundledTask& bundled, const WayOptions& options);

  struct OfTable {
    /// [forms]: most_slices(); 0: it may not be so.
    std::array<int, kMostForms> most{};
    /// [forms, places]: where it may be so, or none if that is everywhere.
    std::vector<std::vector<bool>> allowed{};
    bool replica = false;
    int least_width = kDimMultiple;
    bool any_widths = false;  ///< Halves or not.

    friend bool operator==(const OfTable&, const OfTable&) = default;

    /// Slices of columns at most. `way`: not kReplica.
    [[nodiscard]] int most_slices(Way way) const { return most[static_cast<std::size_t>(way)]; }
    [[nodiscard]] bool may_be(Way way) const {
      return way == Way::kReplica ? replica : most_slices(way) > 0;
    }
    [[nodiscard]] bool may_be_any() const { return replica || std::ranges::max(most) > 0; }
    [[nodiscard]] bool may_be_at(Way way, int place) const {
      return allowed.empty() ||
             allowed[static_cast<std::size_t>(way)][static_cast<std::size_t>(place)];
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
  /// Whether a group keeps `table` from others.
  [[nodiscard]] bool any_apart(int table) const {
    return !apart_.groups_of(static_cast<std::size_t>(table)).empty();
  }
  [[nodiscard]] bool equal_widths() const { return options_.equal_widths; }
  [[nodiscard]] bool halves() const { return options_.halves; }
  [[nodiscard]] bool halves(int table) const { return options_.halves && !of(table).any_widths; }
  /// Whether a slice of a table may be so wide, as far as it alone is concerned.
  [[nodiscard]] bool may_be_wide(int table, int width) const;

  [[nodiscard]] const WayOptions& options() const { return options_; }
  [[nodiscard]] int devices() const { return devices_; }
  /// Ways that the task has groups of devices for, in their order: all but kReplica.
  [[nodiscard]] const std::vector<Way>& list() const { return list_; }
  [[nodiscard]] const WayForm& form(Way way) const {
    return options_.forms[static_cast<std::size_t>(way)];
  }
  /// A way for a table that is to be no replica: kDevice, or the last one that it may have.
  [[nodiscard]] Way way_but_replica(int table) const;
  /// The ways of list() in which slices have several places to choose from.
  [[nodiscard]] const std::vector<Way>& with_places() const { return with_places_; }
  /// Whether each slice has all rows on one device.
  [[nodiscard]] bool is_on_device(Way way) const { return way != Way::kReplica && group(way) == 1; }
  /// Whether tables are deduplicated.
  [[nodiscard]] bool is_deduplicated(Way way) const {
    return way != Way::kReplica && form(way).deduplicated;
  }
  /// The way with the same places that is deduplicated if `way` is not, and not if it is; `way`, if
  /// there is none. Not of kReplica.
  [[nodiscard]] Way other_asking(Way way) const {
    const auto other = std::ranges::find_if(list_, [&](Way one) {
      return group(one) == group(way) && is_deduplicated(one) != is_deduplicated(way);
    });
    return other == list_.end() ? way : *other;
  }
  /// Devices that share the rows of a slice. Not of kReplica.
  [[nodiscard]] int group(Way way) const { return groups_[static_cast<std::size_t>(way)]; }
  /// Where a slice may be: on the devices, or the groups of them; 1 of kReplica.
  [[nodiscard]] int places(Way way) const {
    return way == Way::kReplica ? 1 : places_[static_cast<std::size_t>(way)];
  }
  /// Whether slices are on all devices, so that there are no places to choose from.
  [[nodiscard]] bool is_everywhere(Way way) const { return !is_on_device(way) && places(way) == 1; }

  /// Equal blocks of the rows of a table, one of all rows on a device: numbers of
  /// ShardCatalog::rows().
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
  /// `way`: neither kDevice nor kReplica.
  [[nodiscard]] const Blocks& blocks(int table, Way way) const;

  /// Widths of a table that is cut into so many slices as equal as they can be, or fewer where its
  /// columns or rules allow no more; empty: it may not be sharded so.
  [[nodiscard]] std::vector<int> widths(int table, Way way, int slices) const;

 private:
  OfTable ways_of(int table, bool is_bundle, const WayOptions::OfTable& own,
                  std::int64_t least_room) const;
  Blocks make_blocks(int table, Way way) const;

  ShardCatalog& catalog_;
  const Task& task_;
  int devices_;
  WayOptions options_;
  bool deduplicates_ = false;  ///< The models price that.
  std::array<int, kMostForms> groups_{};
  std::array<int, kMostForms> places_{};
  std::vector<Way> list_;
  std::vector<Way> with_places_;
  ApartTables apart_;
  std::vector<OfTable> of_tables_;
  mutable std::vector<std::unique_ptr<Blocks>> blocks_;  ///< [tables, forms], made when asked for.
};

}  // namespace neuroshard
