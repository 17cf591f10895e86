#include "search/replanning/kept_start.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/tables/table_groups.h"
#include "core/tables/table_rules.h"
#include "search/apart_devices.h"

namespace neuroshard {
namespace {

// Most that one of the slices to be placed may cost, as shares of the mean cost of a device.
constexpr std::array<double, 8> kShares = {
    std::numeric_limits<double>::infinity(), 1.0, 0.5, 0.25, 0.12, 0.06, 0.03, 0.01};

// More than the tree of halvings of any table has.
constexpr int kAnyLevels = 32;

// Orders in which tables that groups keep together choose devices.
constexpr std::size_t kMostTriesToHold = 16;

enum class Fewest { kColumns, kCost };

/// What stays, and what is to be placed (its devices mean nothing).
struct Kept {
  Layout slices;
  Layout homeless;
};

/// Takes the tree of halvings apart, to so many levels below `piece`, until each node is on one
/// device, as one slice if it was one, or held by nobody, or may not be halved. A node at the
/// bottom may be held by several: it stays with the device that holds most of it. What is where
/// rules do not let it be does not stay.
void sort_nodes(const PieceCatalog& catalog, const Residency& residency, std::uint32_t table,
                std::uint32_t piece, int first_column, int levels, const Task& task, Kept& kept) {
  const TableRules& rules = task.tables[table].rules;
  const int dim = catalog.dim(piece);
  const int end = first_column + dim;
  std::map<std::uint32_t, int> held;  // By each device.
  bool halved = false;                // The halves are, or belong to, different slices.
  for (const Residency::Range& range : residency.of_table(table)) {
    const int columns =
        std::min(range.first_column + range.dim, end) - std::max(range.first_column, first_column);
    if (columns > 0 && rules.allow(static_cast<int>(range.device), task.devices_per_node)) {
      held[range.device] += columns;
      halved |= range.first_column == first_column + dim / 2;
    }
  }
  if (held.empty()) {
    kept.homeless.push_back({piece, table, 0});
    return;
  }
  const auto most =
      std::ranges::max_element(held, {}, &std::pair<const std::uint32_t, int>::second);
  if ((most->second == dim && !halved) || levels == 0 || !catalog.can_split(piece)) {
    kept.slices.push_back({piece, table, most->first});
    return;
  }
  for (const int first : {first_column, first_column + dim / 2}) {
    sort_nodes(catalog, residency, table, catalog.half(piece), first, levels - 1, task, kept);
  }
}

std::vector<std::int64_t> memory_of_devices(const PieceCatalog& catalog, const Task& task,
                                            const Layout& layout) {
  std::vector<std::int64_t> memory(static_cast<std::size_t>(task.devices), 0);
  for (const PlacedSlice& slice : layout) memory[slice.device] += catalog.size_bytes(slice.piece);
  return memory;
}

/// The only device that may hold slices of a table with these rules, if there is but one.
std::optional<std::uint32_t> only_device(const TableRules& rules, const Task& task) {
  if (!rules.limit_devices()) return std::nullopt;
  const std::vector<bool> allowed = allowed_devices(rules, task);
  if (std::ranges::count(allowed, true) != 1) return std::nullopt;
  return static_cast<std::uint32_t>(std::ranges::find(allowed, true) - allowed.begin());
}

/// Of devices that hold more than they can, takes the smallest slice that is enough, or half of it,
/// or one after the other; but none that may be nowhere else, as long as there are others.
void make_room(const PieceCatalog& catalog, const Task& task, Kept& kept) {
  std::vector<std::int64_t> memory = memory_of_devices(catalog, task, kept.slices);
  const std::vector<std::int64_t> rooms = rooms_bytes(task);
  std::vector<bool> pinned(task.tables.size());
  for (std::size_t t = 0; t < pinned.size(); ++t) {
    pinned[t] = only_device(task.tables[t].rules, task).has_value();
  }
  const auto is_pinned = [&](const PlacedSlice& slice) { return pinned[slice.table]; };
  for (std::uint32_t device = 0; device < memory.size(); ++device) {
    while (memory[device] > rooms[device]) {
      const std::int64_t excess = memory[device] - rooms[device];
      std::optional<std::size_t> chosen;
      for (std::size_t i = 0; i < kept.slices.size(); ++i) {
        if (kept.slices[i].device != device) continue;
        if (!chosen || (is_pinned(kept.slices[*chosen]) && !is_pinned(kept.slices[i]))) {
          chosen = i;
          continue;
        }
        if (is_pinned(kept.slices[i]) && !is_pinned(kept.slices[*chosen])) continue;
        const std::int64_t bytes = catalog.size_bytes(kept.slices[i].piece);
        const std::int64_t before = catalog.size_bytes(kept.slices[*chosen].piece);
        if (before < excess ? bytes > before : bytes >= excess && bytes < before) chosen = i;
      }
      PlacedSlice taken = kept.slices[*chosen];
      kept.slices[*chosen] = kept.slices.back();
      kept.slices.pop_back();
      std::int64_t freed = catalog.size_bytes(taken.piece);
      while (catalog.can_split(taken.piece)) {
        const std::uint32_t half = catalog.half(taken.piece);
        if (freed - catalog.size_bytes(half) < excess) break;
        freed -= catalog.size_bytes(half);
        taken.piece = half;
        kept.slices.push_back(taken);
      }
      memory[device] -= freed;
      kept.homeless.push_back(taken);
    }
  }
}

/// Nothing if some slice finds no room. Where tables were replicated, slices of them go to devices
/// that hold them, as far as these have room.
std::optional<Layout> placed(const PieceCatalog& catalog, const Task& task,
                             const Residency& residency, const Kept& kept, double most_cost_ms,
                             Fewest fewest) {
  std::vector<std::int64_t> memory = memory_of_devices(catalog, task, kept.slices);
  const std::vector<std::int64_t> rooms = rooms_bytes(task);
  std::vector<double> load(memory.size(), 0.0);
  const ComputeOnDevices compute =
      fewest == Fewest::kCost ? compute_on_devices(task) : ComputeOnDevices{};
  const auto load_of = [&](std::uint32_t piece) {
    return fewest == Fewest::kColumns ? static_cast<double>(catalog.dim(piece))
                                      : static_cast<double>(catalog.cost_ms(piece));
  };
  for (const PlacedSlice& slice : kept.slices) load[slice.device] += load_of(slice.piece);

  const auto less = [&](const PlacedSlice& a, const PlacedSlice& b) {
    const float cost_a = catalog.cost_ms(a.piece);
    const float cost_b = catalog.cost_ms(b.piece);
    return cost_a != cost_b ? cost_a < cost_b : a < b;
  };
  Layout waiting = kept.homeless;  // A heap, the costliest on top.
  std::make_heap(waiting.begin(), waiting.end(), less);
  Layout layout = kept.slices;
  while (!waiting.empty()) {
    std::pop_heap(waiting.begin(), waiting.end(), less);
    PlacedSlice slice = waiting.back();
    waiting.pop_back();
    std::optional<std::uint32_t> chosen;
    if (!catalog.can_split(slice.piece) || catalog.cost_ms(slice.piece) <= most_cost_ms) {
      const std::int64_t bytes = catalog.size_bytes(slice.piece);
      const TableRules& rules = task.tables[slice.table].rules;
      const std::uint32_t replicas = residency.replicas(slice.table);
      for (std::uint32_t device = 0; device < memory.size(); ++device) {
        if (chosen && *chosen < replicas && device >= replicas) break;
        if (memory[device] > rooms[device] - bytes) continue;
        if (rules.limit_devices() &&
            !rules.allow(static_cast<int>(device), task.devices_per_node)) {
          continue;
        }
        if (!chosen ||
            compute.compute_ms(device, load[device]) < compute.compute_ms(*chosen, load[*chosen])) {
          chosen = device;
        }
      }
    }
    if (chosen) {
      slice.device = *chosen;
      memory[*chosen] += catalog.size_bytes(slice.piece);
      load[*chosen] += load_of(slice.piece);
      layout.push_back(slice);
    } else if (catalog.can_split(slice.piece)) {
      slice.piece = catalog.half(slice.piece);
      for (int half = 0; half < 2; ++half) {
        waiting.push_back(slice);
        std::push_heap(waiting.begin(), waiting.end(), less);
      }
    } else {
      return std::nullopt;
    }
  }
  return layout;
}

std::int64_t bytes_of_bundle(const PieceCatalog& catalog, const TableBundle& bundle) {
  std::int64_t bytes = 0;
  for (const std::uint32_t t : bundle) bytes += catalog.size_bytes(catalog.whole(t));
  return bytes;
}

/// Each bundle, in their order, on the free device that holds most of it. Nothing if one finds
/// none: it is `without`.
std::optional<Task> with_bundles_pinned(const PieceCatalog& catalog, const Task& task,
                                        const Residency& residency,
                                        const std::vector<std::vector<int>>& held,
                                        const std::vector<TableBundle>& bundles,
                                        std::size_t& without) {
  const auto devices = static_cast<std::size_t>(task.devices);
  const ApartTables apart(task);
  std::vector<std::vector<bool>> taken(apart.groups(), std::vector<bool>(devices, false));
  std::vector<std::int64_t> room = rooms_bytes(task);
  Task with = task;
  for (std::size_t b = 0; b < bundles.size(); ++b) {
    const TableBundle& bundle = bundles[b];
    const std::int64_t bytes = bytes_of_bundle(catalog, bundle);
    const std::vector<bool> allowed = allowed_devices(task, bundle);
    const auto is_free = [&](std::size_t device) {
      return allowed[device] && std::ranges::none_of(bundle, [&](std::uint32_t t) {
               return !apart.empty() &&
                      std::ranges::any_of(apart.groups_of(t), [&](std::uint32_t group) {
                        return static_cast<bool>(taken[group][device]);
                      });
             });
    };
    const auto rank = [&](std::size_t device) {
      std::int64_t kept = 0;
      for (const std::uint32_t t : bundle) {
        kept += held[t][device] * residency.bytes_per_column(t);
      }
      return std::tuple(room[device] >= bytes, kept, room[device]);
    };
    std::optional<std::size_t> best;
    for (std::size_t device = 0; device < devices; ++device) {
      if (is_free(device) && (!best || rank(device) > rank(*best))) best = device;
    }
    if (!best) {
      without = b;
      return std::nullopt;
    }
    room[*best] -= bytes;
    for (const std::uint32_t t : bundle) {
      with.tables[t].rules.limit_to({static_cast<int>(*best)});
      if (apart.empty()) continue;
      for (const std::uint32_t group : apart.groups_of(t)) taken[group][*best] = true;
    }
  }
  return with;
}

}  // namespace

std::optional<Task> with_devices_that_hold_groups(const PieceCatalog& catalog, const Task& task,
                                                  const Residency& residency) {
  const auto devices = static_cast<std::size_t>(task.devices);
  std::vector<std::vector<int>> held(task.tables.size(), std::vector<int>(devices, 0));
  for (std::size_t t = 0; t < held.size(); ++t) {
    for (const std::uint32_t device : residency.holders(t)) {
      held[t][device] = residency.columns(t, device);
    }
  }
  std::vector<TableBundle> bundles = table_bundles(task);
  std::ranges::stable_sort(bundles, std::ranges::greater{}, [&](const TableBundle& bundle) {
    return bytes_of_bundle(catalog, bundle);
  });
  // Whoever finds no device is the first to choose next time.
  for (std::size_t tries = 0; tries < kMostTriesToHold; ++tries) {
    std::size_t without = 0;
    std::optional<Task> with =
        with_bundles_pinned(catalog, task, residency, held, bundles, without);
    if (with) {
      std::erase_if(with->groups,
                    [](const TableGroup& group) { return group.keep == Keep::kTogether; });
      if (with->groups.empty()) return with;
      with = with_devices_of_apart_tables(*with, held);
      if (with) return with;
      // A bundle took what an apart table needed: other bundles come first.
      without = bundles.empty() ? 0 : bundles.size() - 1;
    }
    if (bundles.size() < 2) return std::nullopt;
    std::rotate(bundles.begin(), bundles.begin() + static_cast<std::ptrdiff_t>(without),
                bundles.begin() + static_cast<std::ptrdiff_t>(without) + 1);
  }
  return std::nullopt;
}

std::vector<Layout> plans_that_keep_slices(const PieceCatalog& catalog, const Task& task,
                                           const Residency& residency) {
  Kept kept;
  double cost_ms = 0.0;
  for (std::uint32_t table = 0; table < catalog.tables(); ++table) {
    cost_ms += std::max(0.0F, catalog.cost_ms(catalog.whole(table)));
    const std::size_t kept_before = kept.slices.size();
    const std::size_t homeless_before = kept.homeless.size();
    const TableRules& rules = task.tables[table].rules;
    if (const auto only = only_device(rules, task)) {
      kept.slices.push_back({catalog.whole(table), table, *only});
      continue;
    }
    const auto sort_table = [&](int levels) {
      sort_nodes(catalog, residency, table, catalog.whole(table), 0, levels, task, kept);
    };
    sort_table(kAnyLevels);
    const std::size_t slices =
        kept.slices.size() - kept_before + kept.homeless.size() - homeless_before;
    if (slices > catalog.most_slices(table)) {
      kept.slices.resize(kept_before);
      kept.homeless.resize(homeless_before);
      sort_table(std::bit_width(catalog.most_slices(table)) - 1);
    }
  }
  make_room(catalog, task, kept);

  std::vector<Layout> layouts;
  for (const double share : kShares) {
    for (const Fewest fewest : {Fewest::kColumns, Fewest::kCost}) {
      auto layout = placed(catalog, task, residency, kept, share * cost_ms / task.devices, fewest);
      if (!layout || exceeds_most_slices(catalog, *layout)) continue;
      sort_layout(*layout);
      layouts.push_back(*std::move(layout));
    }
  }
  std::sort(layouts.begin(), layouts.end());
  layouts.erase(std::unique(layouts.begin(), layouts.end()), layouts.end());
  return layouts;
}

Layout renumbered_to_keep(const PieceCatalog& catalog, const Task& task, Layout layout,
                          const Residency& residency) {
  if (!has_equal_devices(task) || any_limits_devices(task)) return layout;  // Each is itself.
  // What each device of the layout would keep as each device that holds something, in bytes.
  const auto devices = static_cast<std::size_t>(task.devices);
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> columns;  // Of table and device.
  for (const PlacedSlice& slice : layout) {
    columns[{slice.table, slice.device}] += catalog.dim(slice.piece);
  }
  std::vector<std::int64_t> kept(devices * devices, 0);
  for (const auto& [key, dim] : columns) {
    for (const std::uint32_t device : residency.holders(key.first)) {
      kept[key.second * devices + device] += std::min(dim, residency.columns(key.first, device)) *
                                             residency.bytes_per_column(key.first);
    }
  }
  std::vector<std::size_t> pairs;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] > 0) pairs.push_back(i);
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [&](std::size_t a, std::size_t b) { return kept[a] > kept[b]; });
  std::vector<std::optional<std::uint32_t>> number(devices);
  std::vector<bool> taken(devices, false);
  const auto give = [&](std::size_t device, std::size_t wanted) {
    if (number[device] || taken[wanted]) return;
    number[device] = static_cast<std::uint32_t>(wanted);
    taken[wanted] = true;
  };
  for (const std::size_t pair : pairs) give(pair / devices, pair % devices);
  std::size_t free = 0;
  for (std::size_t device = 0; device < devices; ++device) {
    while (free < devices && taken[free]) ++free;
    if (free < devices) give(device, free);
  }
  for (PlacedSlice& slice : layout) slice.device = *number[slice.device];
  sort_layout(layout);
  return layout;
}

}  // namespace neuroshard
