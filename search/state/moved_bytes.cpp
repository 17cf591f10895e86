#include "search/state/moved_bytes.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/plans/equal_blocks.h"

namespace neuroshard {
namespace {

constexpr int kNoColumn = -1;

}  // namespace

MovedBytes::MovedBytes(const MoveTerms& terms, const BundledTask& bundled, const TableWays& ways)
    : terms_(terms), bundled_(bundled), ways_(ways), held_(bundled.task.tables.size()) {
  const RunningHolders& holders = terms.holders;
  for (std::size_t t = 0; t < held_.size(); ++t) {
    if (bundled.bundle(t) != nullptr) continue;  // It has no columns to choose from.
    for (const RunningSlice& one : holders.slices(bundled.original[t])) {
      for (const std::uint32_t place :
           holders.places().devices[static_cast<std::size_t>(one.running_device)]) {
        held_[t].push_back({static_cast<int>(place), one.slice.first_column, one.slice.dim});
      }
    }
    std::ranges::sort(held_[t], {}, [](const Held& one) {
      return std::tuple(one.place, one.first_column, one.dim);
    });
  }
}

std::span<const std::uint32_t> MovedBytes::listed(int table) const {
  const auto t = static_cast<std::size_t>(table);
  if (const BundledTask::Bundle* bundle = bundled_.bundle(t)) return bundle->listed;
  return std::span(bundled_.original).subspan(t, 1);
}

std::int64_t MovedBytes::of_fixed(TableSlice slice, int device) const {
  std::int64_t bytes = 0;
  const auto t = static_cast<std::size_t>(slice.table);
  for (const std::uint32_t table : listed(slice.table)) {
    slice.table = static_cast<int>(table);
    if (bundled_.bundle(t) != nullptr) {
      const Table& of = terms_.holders.task().tables[table];
      slice = {slice.table, 0, of.dim, 0, of.rows};
    }
    bytes += terms_.holders.moved_bytes(slice, device);
  }
  return bytes;
}

std::int64_t MovedBytes::of_everywhere(int table, Way way) {
  const int dim = bundled_.task.tables[static_cast<std::size_t>(table)].dim;
  const StateSlice whole{table, dim, way, 0};
  return of_slices({&whole, 1});
}

std::int64_t MovedBytes::of_slices(std::span<const StateSlice> slices) {
  const StateSlice& first = slices.front();
  if (!ways_.is_everywhere(first.way)) return counted(slices);
  const auto [known, is_new] = everywhere_.try_emplace({first.table, first.way}, 0);
  if (is_new) known->second = counted(slices);
  return known->second;
}

std::int64_t MovedBytes::counted(std::span<const StateSlice> slices) {
  const auto& [table, width, way, place] = slices.front();
  const Table& of = bundled_.task.tables[static_cast<std::size_t>(table)];
  std::int64_t bytes = 0;
  if (way == Way::kReplica) {
    if (of.size_bytes() > kMaxTaskBytes / ways_.devices()) return kMaxTaskBytes;
    for (int device = 0; device < ways_.devices(); ++device) {
      bytes += of_fixed({table, 0, of.dim, 0, of.rows}, device);
    }
    return bytes;
  }
  const int group = ways_.group(way);
  const std::vector<int>& first_columns = this->first_columns(slices);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    for_each_block({slices[i].table, first_columns[i], slices[i].width, 0, of.rows},
                   slices[i].place * group, group,
                   [&](const TableSlice& block, int device) { bytes += of_fixed(block, device); });
  }
  return bytes;
}

std::int64_t MovedBytes::about(const StateSlice& slice) const {
  const auto t = static_cast<std::size_t>(slice.table);
  if (bundled_.bundle(t) != nullptr) return of_fixed({.table = slice.table}, slice.place);
  const RunningHolders& holders = terms_.holders;
  const std::size_t listed = bundled_.original[t];
  const RowBytes row = stored_bytes(bundled_.task.tables[t].memory);
  const auto bytes_of = [&](std::int64_t rows) {
    return rows * (row.per_column * slice.width + row.per_row);
  };
  const std::int64_t all = bytes_of(bundled_.task.tables[t].rows);
  const std::int64_t kept_rows = holders.kept_rows(listed);
  const int group = ways_.group(slice.way);
  std::int64_t bytes = holders.places().groups * all;
  for (int device = slice.place * group; device < (slice.place + 1) * group; ++device) {
    const bool has_replica =
        holders.is_replicated(listed) && device < holders.places().devices_left;
    std::int64_t kept = has_replica ? bytes_of(kept_rows) : 0;
    for (const RunningSlice& one : holders.slices(listed)) {
      if (!holders.holds(device, one)) continue;
      kept += std::min(one.slice.rows, kept_rows) * row.per_column *
              std::min(slice.width, one.slice.dim);
    }
    bytes -= std::min(kept, all);
  }
  return std::max<std::int64_t>(0, bytes);
}

double MovedBytes::charge_ms(std::int64_t bytes, std::span<const char> is_replica) const {
  return terms_.charge_ms(
      bytes, [&](std::uint32_t table) { return is_replica[bundled_.table_of[table]] != 0; });
}

// ---------------------------------------------------------------------------------- columns

const std::vector<int>& MovedBytes::first_columns(std::span<const StateSlice> slices) {
  first_columns_.assign(slices.size(), kNoColumn);
  order_.resize(slices.size());
  for (std::size_t i = 0; i < slices.size(); ++i) order_[i] = static_cast<int>(i);
  const auto at = [&](int i) -> const StateSlice& { return slices[static_cast<std::size_t>(i)]; };
  std::ranges::sort(order_, [&](int a, int b) {
    return std::tuple(-at(a).width, at(a).place, a) < std::tuple(-at(b).width, at(b).place, b);
  });
  if (slices.size() == 1) {
    first_columns_.front() = 0;
  } else if (ways_.halves(slices.front().table)) {
    set_nodes_of_halves(slices);
  } else {
    set_gaps(slices);
  }
  return first_columns_;
}

// Each slice wishes for columns that its device holds and no other slice of it has: first those
// that are as wide as what runs, then the others, the widest first. Slices without a wish fill what
// others leave, and the rest follows in a row.
void MovedBytes::set_gaps(std::span<const StateSlice> slices) {
  const StateSlice& first = slices.front();
  left_ = held_[static_cast<std::size_t>(first.table)];
  const int group = ways_.group(first.way);
  wishes_.clear();
  others_.clear();
  const auto wish = [&](int i, bool all_of_it) {
    const StateSlice& slice = slices[static_cast<std::size_t>(i)];
    const int device = slice.place * group;
    Held* best = nullptr;
    for (auto one = std::ranges::lower_bound(left_, device, {}, &Held::place);
         one != left_.end() && one->place == device; ++one) {
      if (one->dim <= 0 || (all_of_it && one->dim != slice.width)) continue;
      if (best == nullptr || one->dim > best->dim) best = &*one;
    }
    if (best == nullptr) return false;
    wishes_.push_back({i, best->first_column});
    best->first_column += slice.width;
    best->dim -= slice.width;
    return true;
  };
  for (const int i : order_) {
    if (!wish(i, true)) others_.push_back(i);
  }
  std::erase_if(others_, [&](int i) { return wish(i, false); });
  std::ranges::stable_sort(wishes_, {}, &Wish::first_column);
  int column = 0;
  const auto put = [&](int i) {
    first_columns_[static_cast<std::size_t>(i)] = column;
    column += slices[static_cast<std::size_t>(i)].width;
  };
  for (const Wish& wish : wishes_) {
    for (auto other = others_.begin(); other != others_.end() && column < wish.first_column;) {
      if (slices[static_cast<std::size_t>(*other)].width > wish.first_column - column) {
        ++other;
        continue;
      }
      put(*other);
      other = others_.erase(other);
    }
    put(wish.slice);
  }
  for (const int i : others_) put(i);
}

int MovedBytes::width_to_keep(const StateSlice& slice, int first_column) const {
  const int device = slice.place * ways_.group(slice.way);
  const std::vector<Held>& held = held_[static_cast<std::size_t>(slice.table)];
  int width = 0;
  for (auto one = std::ranges::lower_bound(held, device, {}, &Held::place);
       one != held.end() && one->place == device; ++one) {
    width += std::max(0, std::min(one->first_column + one->dim, first_column + slice.width) -
                             std::max(one->first_column, first_column));
  }
  return width;
}

// How many of the first columns, in units, places of slices hold.
void MovedBytes::count_held(std::span<const StateSlice> slices) {
  const StateSlice& first = slices.front();
  const int dim = bundled_.task.tables[static_cast<std::size_t>(first.table)].dim;
  const int group = ways_.group(first.way);
  held_before_.assign(static_cast<std::size_t>(dim / kDimMultiple) + 1, 0);
  for (const Held& held : held_[static_cast<std::size_t>(first.table)]) {
    const bool is_place = std::ranges::any_of(
        slices, [&](const StateSlice& slice) { return slice.place * group == held.place; });
    if (!is_place) continue;
    const auto begin = static_cast<std::size_t>(held.first_column / kDimMultiple);
    std::fill_n(held_before_.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                held.dim / kDimMultiple, 1);
  }
  std::partial_sum(held_before_.begin(), held_before_.end(), held_before_.begin());
}

// Nodes of the tree of halvings, the widest first. Each slice takes the one that it keeps most of,
// and others least.
void MovedBytes::set_nodes_of_halves(std::span<const StateSlice> slices) {
  count_held(slices);
  int width = bundled_.task.tables[static_cast<std::size_t>(slices.front().table)].dim;
  std::vector<int> free{0};  // First columns of the nodes of this width that are free.
  for (const int i : order_) {
    const StateSlice& slice = slices[static_cast<std::size_t>(i)];
    for (; width > slice.width; width /= 2) {
      for (std::size_t n = free.size(); n-- > 0;) {
        free.insert(free.begin() + static_cast<std::ptrdiff_t>(n) + 1, free[n] + width / 2);
      }
    }
    if (width != slice.width) return set_gaps(slices);  // No halves of halves.
    const bool is_alone = std::ranges::count(slices, slice.place, &StateSlice::place) == 1;
    const auto gain = [&](int node) {
      const auto begin = static_cast<std::size_t>(node / kDimMultiple);
      const auto end = begin + static_cast<std::size_t>(width / kDimMultiple);
      const int kept = width_to_keep(slice, node);
      if (kept == width) return width;
      // Another slice there may keep it as well.
      return (is_alone ? 2 : 1) * kept - kDimMultiple * (held_before_[end] - held_before_[begin]);
    };
    const auto best = std::ranges::max_element(free, {}, gain);
    first_columns_[static_cast<std::size_t>(i)] = *best;
    free.erase(best);
  }
}

}  // namespace neuroshard
