#include "search/starts/sharing_search.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <set>
#include <utility>

namespace neuroshard {
namespace {

// Steps of the search through everything, some ten milliseconds: the fewer the more decisions there
// are, since large tasks find room soon or never, and a plan may look for it in a hundred parts of
// them; but some for each decision.
constexpr std::uint64_t kMostSharings = 1'000'000;
constexpr std::uint64_t kSharingsTimesDecisions = std::uint64_t{1} << 27;
constexpr std::uint64_t kSharingsOfDecision = 4;
constexpr std::uint64_t kSharingsBetweenLooks = 1024;
// To look up what is left before a table takes the time of so many, and of one for so many numbers.
constexpr std::uint64_t kSharingsOfLookUp = 6;
constexpr std::uint64_t kNumbersOfSharing = 4;
constexpr std::size_t kMostRememberedRooms = std::size_t{1} << 20;

}  // namespace

SharingSearch::SharingSearch(const std::vector<SharedTable>& tables,
                             std::vector<std::int64_t> rooms, const ApartTables& apart,
                             bool equal_widths, const StopCondition& stop)
    : tables_(tables),
      rooms_(std::move(rooms)),
      taken_(apart, tables.size(), rooms_.size()),
      equal_widths_(equal_widths),
      stop_(stop) {
  std::size_t decisions = 0;
  for (const SharedTable& shared : tables_) {
    sharing_.emplace_back(shared.devices.size(), 0);
    fit_from_.emplace_back(shared.devices.size() + 1, 0);
    decisions += shared.devices.size();
  }
  gave_up_ = decisions > kMostPlaces;
  most_sharings_ = std::min(kMostSharings,
                            std::max(kSharingsTimesDecisions / std::max<std::size_t>(1, decisions),
                                     kSharingsOfDecision * decisions));
  open_groups_of(apart);
  bytes_from_.assign(tables_.size() + 1, 0);
  for (std::size_t t = tables_.size(); t-- > 0;) {
    bytes_from_[t] = bytes_from_[t + 1] + tables_[t].bytes.back();
  }
  next_look_ = kSharingsBetweenLooks;
  classify_devices();
}

void SharingSearch::classify_devices() {
  std::vector<std::vector<bool>> guests(rooms_.size(), std::vector<bool>(tables_.size(), false));
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    for (const std::uint32_t device : tables_[t].devices) guests[device][t] = true;
  }
  std::set<std::vector<bool>> kinds(guests.begin(), guests.end());
  for (const std::vector<bool>& kind : guests) {
    class_of_.push_back(std::distance(kinds.begin(), kinds.find(kind)));
  }
}

void SharingSearch::open_groups_of(const ApartTables& apart) {
  open_groups_.assign(tables_.size() + 1,
                      std::vector<std::uint64_t>((apart.groups() + 63) / 64, 0));
  if (apart.empty()) return;
  for (std::size_t t = tables_.size(); t-- > 0;) {
    open_groups_[t] = open_groups_[t + 1];
    for (const std::uint32_t group : apart.groups_of(tables_[t].table)) {
      open_groups_[t][group / 64] |= std::uint64_t{1} << (group % 64);
    }
  }
}

std::vector<std::int64_t> SharingSearch::state(std::size_t t) {
  const std::vector<std::uint64_t>& open = open_groups_[t];
  const std::size_t width = 2 + open.size();
  device_states_.resize(rooms_.size() * width);
  order_.resize(rooms_.size());
  for (std::size_t d = 0; d < rooms_.size(); ++d) {
    std::int64_t* const device = device_states_.data() + d * width;
    order_[d] = device;
    device[0] = class_of_[d];
    device[1] = rooms_[d];
    for (std::size_t word = 0; word < open.size(); ++word) {
      device[2 + word] = static_cast<std::int64_t>(taken_.groups_on(d)[word] & open[word]);
    }
  }
  std::sort(order_.begin(), order_.end(), [width](const std::int64_t* a, const std::int64_t* b) {
    return std::lexicographical_compare(a, a + width, b, b + width);
  });
  std::vector<std::int64_t> state;
  state.reserve(1 + order_.size() * (width - 1));
  state.push_back(static_cast<std::int64_t>(t));
  for (const std::int64_t* device : order_) state.insert(state.end(), device + 1, device + width);
  return state;
}

void SharingSearch::mark(std::size_t t, bool taken) {
  for (std::size_t d = 0; d < tables_[t].devices.size(); ++d) {
    if (sharing_[t][d] > 0) taken_.mark(tables_[t].devices[d], tables_[t].table, taken);
  }
}

bool SharingSearch::share(std::size_t t) {
  if (t == tables_.size()) return true;
  std::int64_t room = 0;
  for (const std::int64_t one : rooms_) {
    if (__builtin_add_overflow(room, one, &room)) room = INT64_MAX;
  }
  if (room < bytes_from_[t]) return false;
  std::vector<std::int64_t> known = state(t);
  sharings_ += kSharingsOfLookUp + known.size() / kNumbersOfSharing;
  if (hopeless_.contains(known)) return false;
  count_fits(t);
  if (give(t, 0, tables_[t].units, 0, 0)) return true;
  if (!gave_up_ && remembered_ < kMostRememberedRooms) {
    remembered_ += known.size();
    hopeless_.insert(std::move(known));
  }
  return false;
}

bool SharingSearch::stopped() {
  if (sharings_ < next_look_) return false;
  next_look_ = sharings_ + kSharingsBetweenLooks;
  return stop_.reached();
}

std::uint32_t SharingSearch::fit(const SharedTable& shared, std::size_t d) const {
  const std::uint32_t device = shared.devices[d];
  // Tables are given out one after the other, so that what is taken is taken by others.
  if (!taken_.may_hold(device, shared.table)) return 0;
  const std::int64_t units = rooms_[device] / shared.least_unit_bytes;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(units, 0, shared.units));
}

void SharingSearch::count_fits(std::size_t t) {
  std::vector<std::uint64_t>& from = fit_from_[t];
  for (std::size_t d = tables_[t].devices.size(); d-- > 0;) {
    from[d] = from[d + 1] + fit(tables_[t], d);
  }
}

bool SharingSearch::give(std::size_t t, std::size_t d, std::uint32_t left, std::size_t slices,
                         std::uint32_t widths) {
  const SharedTable& shared = tables_[t];
  if (left == 0) {
    mark(t, true);
    if (equal_widths_ ? share_equally(t, widths) : share(t + 1)) return true;
    mark(t, false);
    return false;
  }
  if (left > fit_from_[t][d] || slices >= shared.most_slices) return false;
  ++sharings_;
  if (sharings_ > most_sharings_ || stopped()) {
    gave_up_ = true;
    return false;
  }
  std::int64_t& room = rooms_[shared.devices[d]];
  const std::uint32_t most = std::min(left, fit(shared, d));
  const std::uint64_t of_others = fit_from_[t][d + 1];
  const std::uint32_t least = left > of_others ? left - static_cast<std::uint32_t>(of_others) : 0;
  for (std::uint32_t units = most + 1; units-- > least;) {
    const std::size_t more = slices + static_cast<std::size_t>(std::popcount(units));
    if (more > shared.most_slices) continue;
    const std::int64_t bytes = shared.bytes_of(units);
    if (bytes > room) continue;
    room -= bytes;
    sharing_[t][d] = units;
    if (give(t, d + 1, left - units, more, widths | units)) return true;
    sharing_[t][d] = 0;
    room += bytes;
    if (gave_up_) return false;
  }
  return false;
}

bool SharingSearch::share_equally(std::size_t t, std::uint32_t widths) {
  const SharedTable& shared = tables_[t];
  const auto level = static_cast<std::size_t>(std::countr_zero(widths));
  if ((shared.units >> level) > shared.most_slices) return false;
  const std::vector<std::int64_t> rooms = rooms_;
  bool fit = true;
  for (std::size_t d = 0; d < shared.devices.size(); ++d) {
    const std::uint32_t units = sharing_[t][d];
    std::int64_t& room = rooms_[shared.devices[d]];
    room -= static_cast<std::int64_t>(units >> level) * shared.bytes[level];
    room += shared.bytes_of(units);
    fit = fit && room >= 0;
  }
  if (fit && share(t + 1)) return true;
  rooms_ = rooms;
  return false;
}

}  // namespace neuroshard
