#include "search/starts/ruled_packings.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/step_budget.h"
#include "core/tables/table_groups.h"
#include "core/tables/table_rules.h"
#include "search/packing.h"
#include "search/starts/shared_tables.h"
#include "search/starts/sharing_search.h"

namespace neuroshard {
namespace {

// More starts than improvement takes up are of no use.
constexpr std::size_t kMostRuledPackings = 6;

// Looks at a device for a slice in one cut: some ten milliseconds.
constexpr std::size_t kMostLooks = std::size_t{1} << 24;

// Looks in all cuts, at all words of groups: some hundred milliseconds.
constexpr std::uint64_t kStepsOfRuledPackings = std::uint64_t{1} << 27;

constexpr std::array kFits = {PackingRule::kBestFit, PackingRule::kWorstFit,
                              PackingRule::kFirstFit};

/// All slices of a table alike.
struct EvenCut {
  std::vector<std::uint32_t> pieces;  ///< Of each of the shared tables.
  bool finest = true;
  std::size_t looks = 0;
};

EvenCut even_cut(const PieceCatalog& catalog, const std::vector<SharedTable>& tables,
                 std::int64_t most_bytes) {
  EvenCut cut;
  for (const SharedTable& shared : tables) {
    std::uint32_t piece = catalog.whole(shared.table);
    while (catalog.can_split_all(piece) && catalog.size_bytes(piece) > most_bytes) {
      piece = catalog.half(piece);
    }
    cut.finest = cut.finest && !catalog.can_split_all(piece);
    cut.pieces.push_back(piece);
    cut.looks += catalog.slices(shared.table, piece) * shared.devices.size();
  }
  return cut;
}

/// Pairs of a table and a device that may hold it.
std::size_t places_to_share(const Task& task) {
  std::size_t places = 0;
  for (const Table& table : task.tables) places += allowed_set(table.rules, task).count();
  return places;
}

enum class FittingOrder { kFewestDevicesFirst, kLargestFirst };

// Slices in the order of tables that few devices may hold, then by size; or by size alone. Empty:
// one finds no room, or the budget is spent.
Sharing fitted(const PieceCatalog& catalog, const std::vector<SharedTable>& tables,
               const EvenCut& cut, std::vector<std::int64_t> rooms, const ApartTables& apart,
               FittingOrder fitting_order, PackingRule rule, StepBudget& budget) {
  std::vector<std::size_t> order(tables.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t t) {
      const bool by_size = fitting_order == FittingOrder::kLargestFirst;
      return std::tuple(by_size ? 0 : tables[t].devices.size(), -catalog.size_bytes(cut.pieces[t]));
    };
    return key(a) < key(b);
  });
  TakenDevices taken(apart, tables.size(), rooms.size());
  Sharing sharing(tables.size());
  for (const std::size_t t : order) {
    const SharedTable& shared = tables[t];
    sharing[t].assign(shared.devices.size(), 0);
    const std::int64_t bytes = catalog.size_bytes(cut.pieces[t]);
    const std::size_t slices = catalog.slices(shared.table, cut.pieces[t]);
    for (std::size_t slice = 0; slice < slices; ++slice) {
      if (!budget.take(shared.devices.size() * (1 + taken.groups_on(0).size()))) return {};
      std::size_t chosen = shared.devices.size();
      for (std::size_t d = 0; d < shared.devices.size(); ++d) {
        const std::int64_t room = rooms[shared.devices[d]];
        if (room < bytes || !taken.may_hold(shared.devices[d], shared.table)) continue;
        const auto better = [&] {
          const std::int64_t before = rooms[shared.devices[chosen]];
          return rule == PackingRule::kBestFit ? room < before
                                               : rule == PackingRule::kWorstFit && room > before;
        };
        if (chosen == shared.devices.size() || better()) chosen = d;
      }
      if (chosen == shared.devices.size()) return {};
      rooms[shared.devices[chosen]] -= bytes;
      sharing[t][chosen] += shared.units / static_cast<std::uint32_t>(slices);
    }
    for (std::size_t d = 0; d < shared.devices.size(); ++d) {
      if (sharing[t][d] > 0) taken.mark(shared.devices[d], shared.table, true);
    }
  }
  return sharing;
}

/// Evenly cut tables.
std::vector<Layout> even_packings(const PieceCatalog& catalog, const Task& task,
                                  StepBudget& budget) {
  std::vector<Layout> layouts;
  if (places_to_share(task) > kMostLooks) return layouts;
  const std::vector<SharedTable> tables = shared_tables(catalog, task);
  const std::vector<std::int64_t> rooms = rooms_bytes(task);
  const ApartTables apart(task);
  for (const FittingOrder order :
       {FittingOrder::kFewestDevicesFirst, FittingOrder::kLargestFirst}) {
    if (order == FittingOrder::kLargestFirst && !any_limits_devices(task))
      break;  // It is the same.
    std::vector<std::uint32_t> coarser;
    for (std::int64_t most_bytes = largest_room_bytes(task); budget.take(tables.size());
         most_bytes /= 2) {
      EvenCut cut = even_cut(catalog, tables, most_bytes);
      if (cut.looks > kMostLooks) break;
      if (cut.pieces != coarser) {
        for (const PackingRule rule : kFits) {
          if (layouts.size() == kMostRuledPackings) return layouts;
          const Sharing sharing = fitted(catalog, tables, cut, rooms, apart, order, rule, budget);
          if (!sharing.empty()) layouts.push_back(layout_of(tables, sharing));
        }
      }
      if (cut.finest) break;
      coarser = std::move(cut.pieces);
    }
    if (!layouts.empty()) break;
  }
  return layouts;
}

}  // namespace

TightPackings pack_under_rules(const PieceCatalog& catalog, const Task& task, const Task* starts,
                               bool equal_widths, const StopCondition& stop) {
  TightPackings found;
  StepBudget budget(kStepsOfRuledPackings, stop);
  if (!budget.take(task.tables.size())) return found;
  if (starts != nullptr) found.layouts = even_packings(catalog, *starts, budget);
  if (found.layouts.empty() && !task.groups.empty()) {
    found.layouts = even_packings(catalog, task, budget);
  }
  if (!found.layouts.empty() || stop.reached()) return found;
  if (places_to_share(task) > SharingSearch::kMostPlaces) return found;
  const std::vector<SharedTable> tables = shared_tables(catalog, task);
  const ApartTables apart(task);
  SharingSearch search(tables, rooms_bytes(task), apart, equal_widths, stop);
  if (search.run()) {
    found.layouts.push_back(layout_of(tables, search.sharing()));
  } else {
    found.impossible = !search.gave_up();
  }
  return found;
}

}  // namespace neuroshard
