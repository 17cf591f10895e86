#include "search/starts/device_filling.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>

#include "core/base/count_up.h"

namespace neuroshard {
namespace {

// To take a decision back, and another one.
constexpr std::uint64_t kStepsOfDecision = 8;

// Numbers kept of what was left where no way was found; more are not remembered.
constexpr std::size_t kMostRemembered = std::size_t{1} << 20;

}  // namespace

std::size_t DeviceFilling::HashOfNumbers::operator()(const std::vector<int>& numbers) const {
  std::uint64_t hash = 0;
  for (const int number : numbers) {
    hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

DeviceFilling::DeviceFilling(const std::vector<RoomTable>& tables, const ChosenWays& ways,
                             std::vector<std::int64_t> rooms, const ApartTables& apart, Order order,
                             StepBudget& steps)
    : apart_(apart),
      even_(order.even),
      steps_(steps),
      order_(count_up<std::size_t>(rooms.size())),
      rooms_(std::move(rooms)) {
  std::vector<std::size_t> guests(rooms_.size(), 0);
  bool any_device = true;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const RoomTable& table = tables[i];
    if (ways[i] >= table.cuts.size()) continue;
    const ColumnCut& cut = table.cuts[ways[i]];
    const bool grouped = !apart.groups_of(table.table).empty();
    const bool any_slices = table.most_slices >= static_cast<std::size_t>(cut.units);
    // A unit less can be more halves.
    const bool grows =
        cut.slices != ColumnCut::Slices::kHalves ||
        cut.unit_bytes >= cut.slice_bytes * std::bit_width(static_cast<unsigned>(cut.units));
    items_.push_back({.index = i,
                      .table = &table,
                      .cut = &cut,
                      .is_grouped = grouped,
                      .is_like_last = false,
                      .moves_by_units = any_slices && grows && cut.least_units == 1,
                      .left = cut.units,
                      .slices = 0,
                      .fit_later = 0});
    bytes_left_ += cut.bytes(cut.units);
    for (std::size_t d = 0; d < guests.size(); ++d) {
      guests[d] += table.devices[d] ? 1 : 0;
      any_device &= table.devices[d];
    }
  }
  // Where there is least to choose from comes first; units that fill gaps come last.
  std::ranges::stable_sort(items_, {}, [](const Item& item) {
    return std::tuple(item.table->holders, -item.cut->bytes(item.cut->least_units),
                      -item.cut->bytes(item.cut->units));
  });
  double dealt_bytes = order.dealt_share * static_cast<double>(bytes_left_);
  while (!items_.empty()) {
    const std::int64_t bytes = items_.back().cut->bytes(items_.back().cut->units);
    dealt_bytes -= static_cast<double>(bytes);
    if (dealt_bytes < 0.0) break;
    bytes_left_ -= bytes;
    dealt_.push_back(items_.back());
    items_.pop_back();
  }
  std::ranges::reverse(dealt_);
  items_left_ = items_.size();
  for (std::size_t i = 1; i < items_.size(); ++i) {
    const Item& last = items_[i - 1];
    Item& item = items_[i];
    item.is_like_last = !item.is_grouped && !last.is_grouped && *last.cut == *item.cut &&
                        last.table->most_slices == item.table->most_slices &&
                        last.table->devices == item.table->devices;
  }
  std::ranges::stable_sort(order_, {},
                           [&](std::size_t d) { return std::pair(guests[d], -rooms_[d]); });
  rooms_from_.assign(order_.size() + 1, 0);
  alike_from_ = any_device ? order_.size() : order_.size() + 1;
  for (std::size_t place = order_.size(); place-- > 0;) {
    if (__builtin_add_overflow(rooms_from_[place + 1], rooms_[order_[place]],
                               &rooms_from_[place])) {
      rooms_from_[place] = std::numeric_limits<std::int64_t>::max();
    }
    if (alike_from_ == place + 1 && rooms_[order_[place]] == rooms_[order_.back()]) {
      alike_from_ = place;
    }
    count_later(place, 1);
  }
}

void DeviceFilling::count_later(std::size_t place, int sign) {
  for (Item& item : items_) {
    if (!item.table->devices[order_[place]]) continue;
    item.fit_later += sign * item.cut->fit(item.cut->units, rooms_[order_[place]]);
  }
}

bool DeviceFilling::run() {
  if (items_left_ == 0) return deal();
  if (!steps_.take(items_.size() * order_.size()) || !open_device()) return false;
  while (!steps_.spent()) {
    if (!go_on() || (items_left_ == 0 && !deal())) {
      if (!go_back()) return false;
    } else if (items_left_ == 0) {
      return true;
    }
  }
  return false;
}

template <typename Visit>
void DeviceFilling::for_each_decision(const Visit& visit) const {
  for (std::size_t place = 0; place < open_.size(); ++place) {
    const bool is_last = place + 1 == open_.size();
    const std::size_t end = is_last ? decisions_.size() : open_[place + 1].decisions;
    for (std::size_t i = open_[place].decisions; i < end; ++i) {
      visit(items_[open_[place].offers[decisions_[i].offer].item], order_[place],
            decisions_[i].units);
    }
  }
}

std::vector<UnitsOn> DeviceFilling::units() const {
  std::vector<UnitsOn> units = units_dealt_;
  for_each_decision([&](const Item& item, std::size_t device, int some) {
    units.push_back({item.index, device, some});
  });
  return units;
}

bool DeviceFilling::deal() {
  if (dealt_.empty()) return true;
  if (!steps_.take(decisions_.size() + rooms_.size())) return false;
  units_dealt_.clear();
  std::vector<std::int64_t> rooms = rooms_;
  std::vector<std::vector<std::size_t>> tables_on(rooms.size());  // In groups.
  const auto put = [&](const Item& item, std::size_t device, int some) {
    rooms[device] -= item.cut->bytes(some);
    if (item.is_grouped) tables_on[device].push_back(item.table->table);
  };
  for_each_decision(put);
  for (const Item& item : dealt_) {
    const ColumnCut& cut = *item.cut;
    std::vector<bool> may_hold = item.table->devices;
    const auto is_apart = [&](std::size_t other) {
      return other != item.table->table && apart_.apart(item.table->table, other);
    };
    for (std::size_t d = 0; item.is_grouped && d < rooms.size(); ++d) {
      if (!steps_.take(tables_on[d].size() * apart_.groups_of(item.table->table).size()))
        return false;
      if (std::ranges::any_of(tables_on[d], is_apart)) may_hold[d] = false;
    }
    std::size_t slices = 0;
    for (int left = cut.units; left > 0;) {
      if (!steps_.take(rooms.size())) return false;
      std::size_t device = rooms.size();
      for (std::size_t d = 0; d < rooms.size(); ++d) {
        if (may_hold[d] && (device == rooms.size() || rooms[d] > rooms[device])) device = d;
      }
      if (device == rooms.size()) return false;
      const int some = cut.fit(cut.equal_widths() ? 1 : left, rooms[device]);
      left -= some;
      slices += static_cast<std::size_t>(cut.slices_of(some));
      const bool is_narrow = some < cut.least_units || (left > 0 && left < cut.least_units);
      const auto at_least = slices + static_cast<std::size_t>(cut.slices_of(left));
      if (is_narrow || at_least > item.table->most_slices) return false;
      put(item, device, some);
      units_dealt_.push_back({item.index, device, some});
      may_hold[device] = cut.equal_widths();
    }
  }
  return true;
}

bool DeviceFilling::groups_have_devices(std::size_t devices) const {
  std::vector<std::size_t> members(apart_.groups(), 0);
  for (const Item& item : items_) {
    if (item.left == 0 || !item.is_grouped) continue;
    const std::vector<std::uint32_t>& groups = apart_.groups_of(item.table->table);
    if (!steps_.take(groups.size())) return false;
    for (const std::uint32_t group : groups) {
      if (++members[group] > devices) return false;
    }
  }
  return true;
}

bool DeviceFilling::open_device() {
  const std::size_t place = open_.size();
  if (place == order_.size() || bytes_left_ > rooms_from_[place]) return false;
  if (!steps_.take(2 * items_.size() + apart_.groups())) return false;
  if (!apart_.empty() && !groups_have_devices(order_.size() - place)) return false;
  OpenDevice next{.offers = {}, .decisions = decisions_.size(), .known = {}};
  next.known.reserve(items_.size() + 1);
  next.known.push_back(static_cast<int>(place));
  for (const Item& item : items_) next.known.push_back(item.left);
  if (hopeless_.contains(next.known)) return false;
  const std::int64_t room = rooms_[order_[place]];
  count_later(place, -1);
  bool is_possible = true;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    if (item.left == 0) continue;
    const int fit = item.table->devices[order_[place]] ? item.cut->fit(item.left, room) : 0;
    const std::int64_t least = std::max<std::int64_t>(0, item.left - item.fit_later);
    is_possible &= least <= fit;
    if (fit > 0) next.offers.push_back({i, static_cast<int>(least), 0, 0});
  }
  if (!next.offers.empty() && place >= alike_from_) {
    next.offers.front().least = std::max(1, next.offers.front().least);
  }
  std::int64_t bytes = 0;
  std::int64_t owed = 0;
  for (std::size_t i = next.offers.size(); i-- > 0;) {
    Offer& offer = next.offers[i];
    const Item& item = items_[offer.item];
    offer.bytes_from = bytes += item.cut->most_bytes(item.left);
    if (offer.least > 0) owed += offer.least * item.cut->unit_bytes + item.cut->slice_bytes;
    offer.owed_from = owed;
  }
  if (!is_possible || owed > room) {
    count_later(place, 1);
    return false;
  }
  const std::int64_t spare = rooms_from_[place] - bytes_left_;
  most_waste_ = spare;
  if (even_ && room < rooms_from_[place]) {
    most_waste_ = static_cast<std::int64_t>(static_cast<double>(spare) * static_cast<double>(room) /
                                            static_cast<double>(rooms_from_[place]));
  }
  position_ = 0;
  room_ = room;
  open_.push_back(std::move(next));
  return true;
}

void DeviceFilling::close_device() {
  count_later(open_.size() - 1, 1);
  OpenDevice& device = open_.back();
  if (!steps_.spent() && remembered_ < kMostRemembered) {  // All is left that was.
    remembered_ += device.known.size();
    hopeless_.insert(std::move(device.known));
  }
  open_.pop_back();
}

void DeviceFilling::give(Item& item, int units, int sign) {
  const bool was_left = item.left > 0;
  bytes_left_ -= item.cut->bytes(item.left);
  item.left -= sign * units;
  bytes_left_ += item.cut->bytes(item.left);
  item.slices += static_cast<std::size_t>(sign * item.cut->slices_of(units));
  if (was_left && item.left == 0) --items_left_;
  if (!was_left && item.left > 0) ++items_left_;
}

void DeviceFilling::limit_waste(const Item& item, int units) {
  if (even_ || item.left == 0 || (units == 0 && item.is_grouped)) return;
  const ColumnCut& cut = *item.cut;
  most_waste_ =
      std::min(most_waste_, item.moves_by_units ? cut.bytes(units + 1) - cut.bytes(units) - 1
                                                : cut.most_bytes(item.left) - 1);
}

DeviceFilling::Offer DeviceFilling::next_offer() const {
  const std::vector<Offer>& offers = open_.back().offers;
  return position_ + 1 < offers.size() ? offers[position_ + 1] : Offer{};
}

void DeviceFilling::decide(int units) {
  Item& item = items_[open_.back().offers[position_].item];
  decisions_.push_back({position_, units, room_, most_waste_});
  give(item, units, 1);
  limit_waste(item, units);
  room_ -= item.cut->bytes(units);
  ++position_;
}

int DeviceFilling::allowed_units(int most) const {
  const Offer& offer = open_.back().offers[position_];
  const Item& item = items_[offer.item];
  const ColumnCut& cut = *item.cut;
  const std::int64_t room = room_ - next_offer().owed_from;
  for (int units = cut.fit(most, room); units >= std::max(offer.least, cut.least_units); --units) {
    const int others = item.left - units;
    const int slices = cut.slices_of(units) + cut.slices_of(others);
    if ((others == 0 || others >= cut.least_units) && cut.bytes(units) <= room &&
        item.slices + static_cast<std::size_t>(slices) <= item.table->most_slices) {
      return units;
    }
  }
  return 0;
}

bool DeviceFilling::is_barred(const Item& item) const {
  if (!item.is_grouped) return false;
  const OpenDevice& device = open_.back();
  for (std::size_t i = device.decisions; i < decisions_.size(); ++i) {
    const Item& other = items_[device.offers[decisions_[i].offer].item];
    if (!other.is_grouped) continue;
    const std::size_t steps =
        apart_.groups_of(item.table->table).size() + apart_.groups_of(other.table->table).size();
    if (!steps_.take(steps) || apart_.apart(item.table->table, other.table->table)) return true;
  }
  return false;
}

bool DeviceFilling::follows_skipped() const {
  const OpenDevice& device = open_.back();
  const std::size_t i = device.offers[position_].item;
  if (position_ == 0 || !items_[i].is_like_last) return false;
  return device.offers[position_ - 1].item + 1 == i && items_[i - 1].left == items_[i].left &&
         (decisions_.size() == device.decisions || decisions_.back().offer + 1 != position_);
}

bool DeviceFilling::go_on() {
  for (; position_ < open_.back().offers.size(); ++position_) {
    const Offer& offer = open_.back().offers[position_];
    if (even_ && room_ <= most_waste_ && offer.owed_from == 0) break;
    const Item& item = items_[offer.item];
    if (room_ - offer.bytes_from > most_waste_ || !steps_.take()) return false;
    const int units = follows_skipped() || is_barred(item) ? 0 : allowed_units(item.left);
    if (units > 0) {
      decide(units);
      return true;
    }
    if (offer.least > 0) return false;
    limit_waste(item, 0);
  }
  return room_ <= most_waste_ && open_device();
}

bool DeviceFilling::go_back() {
  while (!open_.empty()) {
    const OpenDevice& device = open_.back();
    if (decisions_.size() == device.decisions) {
      close_device();
      continue;
    }
    const Decision last = decisions_.back();
    decisions_.pop_back();
    position_ = last.offer;
    room_ = last.room;
    most_waste_ = last.most_waste;
    const Offer& offer = device.offers[position_];
    Item& item = items_[offer.item];
    give(item, last.units, -1);
    if (!steps_.take(kStepsOfDecision)) return false;
    const int units = allowed_units(last.units - 1);
    // Fewer units would waste even more.
    if (room_ - item.cut->most_bytes(units) - next_offer().bytes_from > most_waste_) continue;
    if (units > 0) {
      decide(units);
      return true;
    }
    if (offer.least > 0) continue;
    limit_waste(item, 0);
    ++position_;
    return true;
  }
  return false;
}

}  // namespace neuroshard
