#include "search/starts/tight_packings.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "search/packing.h"

namespace neuroshard {
namespace {

// More starts than improvement takes up are of no use.
constexpr std::size_t kMostPackings = 6;

// One at a time is placed by worst fit, and is in a layout; the others count.
constexpr std::int64_t kMostSlices = 1 << 17;

// Some ten milliseconds; and for the finest cut, where failure can be a proof.
constexpr std::uint64_t kNodes = 200'000;
constexpr std::uint64_t kNodesOfFinest = 1'000'000;

constexpr std::array kRules = {PackingRule::kFirstFit, PackingRule::kBestFit,
                               PackingRule::kWorstFit};

// What a slice counts as.
enum class Sizes {
  kReal,
  /// Its part of the whole table. No packing of slices that are multiples of it, which share what
  /// all slices have alike, takes less: what cannot be packed so cannot be packed.
  kShare,
};

// All slices of a table alike: halved until they have at most so many bytes, if they can be.
struct Cut {
  std::vector<std::uint32_t> piece_of_table;
  PackingProblem problem;
  std::vector<std::vector<std::uint32_t>> tables;  ///< Of each class.
  bool finest = true;                              ///< Of cuts of this kind.
  bool all_cuts = true;                            ///< Of all: no slice can be halved.
  bool shares_differ = false;                      ///< From real sizes.
};

Cut cut(const PieceCatalog& catalog, const Task& task, std::int64_t most_bytes, Sizes sizes) {
  Cut cut;
  cut.problem.devices = task.devices;
  cut.problem.memory_bytes = largest_room_bytes(task);
  std::map<std::int64_t, std::vector<std::uint32_t>, std::greater<>> by_size;
  for (std::uint32_t table = 0; table < catalog.tables(); ++table) {
    std::uint32_t piece = catalog.whole(table);
    while (catalog.can_split_all(piece) && catalog.size_bytes(piece) > most_bytes)
      piece = catalog.half(piece);
    if (catalog.can_split_all(piece)) cut.finest = false;
    if (catalog.can_split(piece)) cut.all_cuts = false;
    cut.piece_of_table.push_back(piece);
    const std::int64_t share = catalog.size_bytes(catalog.whole(table)) /
                               static_cast<std::int64_t>(catalog.slices(table, piece));
    const std::int64_t size = catalog.size_bytes(piece);
    if (share != size) cut.shares_differ = true;
    by_size[sizes == Sizes::kShare ? share : size].push_back(table);
  }
  for (auto& [size_bytes, tables] : by_size) {
    std::int64_t slices = 0;
    for (const std::uint32_t table : tables) {
      slices += static_cast<std::int64_t>(catalog.slices(table, cut.piece_of_table[table]));
    }
    cut.problem.classes.push_back({size_bytes, slices});
    cut.tables.push_back(std::move(tables));
  }
  return cut;
}

// So many slices of a table on one device.
struct Share {
  std::uint32_t device;
  std::uint32_t table;
  std::int64_t slices;
};

// Deals the slices of every class out, table by table.
std::vector<Share> shares_of(const PieceCatalog& catalog, const Cut& cut, const Packing& packing) {
  // Where the next slice of each class comes from.
  struct Source {
    std::size_t table = 0;  ///< Index into the class's tables.
    std::int64_t taken = 0;
  };
  std::vector<Source> sources(cut.problem.classes.size());
  std::vector<Share> shares;
  for (const auto& [device, size_class, slices] : packing) {
    Source& source = sources[size_class];
    for (std::int64_t left = slices; left > 0;) {
      const std::uint32_t table = cut.tables[size_class][source.table];
      const auto of_table =
          static_cast<std::int64_t>(catalog.slices(table, cut.piece_of_table[table]));
      const std::int64_t here = std::min(left, of_table - source.taken);
      shares.push_back({device, table, here});
      left -= here;
      source.taken += here;
      if (source.taken == of_table) source = {source.table + 1, 0};
    }
  }
  return shares;
}

Layout layout_of(const PieceCatalog& catalog, const Cut& cut, const Packing& packing) {
  std::vector<Share> shares = shares_of(catalog, cut, packing);
  std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
    return std::tie(a.device, a.table) < std::tie(b.device, b.table);
  });
  Layout layout;
  for (auto share = shares.begin(); share != shares.end();) {
    const auto [device, table, first] = *share;
    std::int64_t slices = first;
    for (++share; share != shares.end() && share->device == device && share->table == table;
         ++share) {
      slices += share->slices;
    }
    // The fewest slices that have so many columns together.
    std::uint32_t piece = cut.piece_of_table[table];
    for (; slices != 0; slices /= 2, --piece) {
      if (slices % 2 != 0) layout.push_back({piece, table, device});
    }
  }
  sort_layout(layout);
  return layout;
}

bool fits(const PieceCatalog& catalog, const Task& task, const Layout& layout) {
  std::vector<std::int64_t> memory(static_cast<std::size_t>(task.devices), 0);
  for (const PlacedSlice& slice : layout) memory[slice.device] += catalog.size_bytes(slice.piece);
  return *std::max_element(memory.begin(), memory.end()) <= largest_room_bytes(task);
}

}  // namespace

TightPackings pack_tightly(const PieceCatalog& catalog, const Task& task,
                           const StopCondition& stop) {
  TightPackings found;
  const auto add = [&](const Cut& cut, const Packing& packing) {
    if (found.layouts.size() == kMostPackings) return;
    Layout layout = layout_of(catalog, cut, packing);
    if (fits(catalog, task, layout)) found.layouts.push_back(std::move(layout));
  };
  const auto pack = [&](const Cut& cut) {
    const bool few = cut.problem.slices() <= kMostSlices;
    for (const PackingRule rule : kRules) {
      if (!few && rule == PackingRule::kWorstFit) continue;
      if (const auto packing = pack_decreasing(cut.problem, rule, stop)) add(cut, *packing);
    }
    const PackingSearchResult searched =
        search_packing(cut.problem, cut.finest ? kNodesOfFinest : kNodes, stop);
    if (searched.outcome == PackingOutcome::kPacked) add(cut, searched.packing);
    return searched.outcome;
  };
  std::optional<Cut> coarser;
  for (std::int64_t most_bytes = largest_room_bytes(task); !stop.reached(); most_bytes /= 2) {
    Cut cut = neuroshard::cut(catalog, task, most_bytes, Sizes::kReal);
    if (coarser && coarser->piece_of_table == cut.piece_of_table) continue;
    PackingOutcome outcome = pack(cut);
    if (cut.shares_differ) {
      outcome = pack(neuroshard::cut(catalog, task, most_bytes, Sizes::kShare));
    }
    if (cut.finest) {
      found.impossible = cut.all_cuts && outcome == PackingOutcome::kImpossible;
      break;
    }
    if (found.layouts.size() == kMostPackings) break;
    coarser = std::move(cut);
  }
  return found;
}

}  // namespace neuroshard
