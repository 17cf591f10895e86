#include "search/apart_devices.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/device_set.h"
#include "core/base/step_budget.h"
#include "core/tables/table_groups.h"
#include "core/tables/table_rules.h"
#include "search/taken_devices.h"

namespace neuroshard {
namespace {

constexpr std::size_t kMostOrders = 16;  // Orders in which tables choose.

// Some hundred milliseconds.
constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 26;

/// A table that groups keep from others.
struct ApartTable {
  std::size_t table = 0;
  DeviceSet allowed;
  std::size_t most_devices = 0;
  double load = 0.0;  ///< Lookups and columns: what operator and all-to-alls cost grows with them.
  std::int64_t bytes = 0;
  std::int64_t room = 0;  ///< Room of its devices.
  std::vector<int> devices{};
  std::size_t next = 0;   ///< Device that it may get next,
  std::size_t tried = 0;  ///< and how many have been looked at.
};

std::size_t most_slices(const Table& table) {
  const auto most = static_cast<std::size_t>(table.dim / narrowest_dim(table));
  return table.rules.max_slices == 0
             ? most
             : std::min(most, static_cast<std::size_t>(table.rules.max_slices));
}

class DevicesOfApartTables {
 public:
  DevicesOfApartTables(const Task& task, const StopCondition& stop)
      : task_(task),
        apart_(task),
        rooms_(even_rooms_bytes(task)),
        free_(rooms_),
        taken_(apart_, rooms_.size()),
        budget_(kMostSteps, stop) {
    for (std::size_t t = 0; t < task.tables.size(); ++t) {
      if (apart_.groups_of(t).empty()) continue;
      const Table& table = task.tables[t];
      tables_.push_back({.table = t,
                         .allowed = allowed_set(table.rules, task),
                         .most_devices = most_slices(table),
                         .load = table.dim * (1.0 + table.pooling_factor),
                         .bytes = table.size_bytes()});
    }
    // Tables that few devices may hold choose first, and of these the largest.
    std::ranges::stable_sort(tables_, {}, [](const ApartTable& one) {
      return std::pair(one.allowed.count(), -one.bytes);
    });
  }

  std::optional<Task> run() {
    if (!give_all_first()) return std::nullopt;
    share_out_the_rest();
    Task task = task_;
    task.groups.clear();
    for (ApartTable& one : tables_) {
      task.tables[one.table].rules.limit_to(std::move(one.devices));
    }
    return task;
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  [[nodiscard]] bool is_free(const ApartTable& one, std::size_t device) const {
    return one.allowed.contains(device) && !taken_.is_taken(one.table, device);
  }

  /// The first from `from` to before `end` that is free for a table; kNone if there is none, or the
  /// budget is spent.
  [[nodiscard]] std::size_t first_free(const ApartTable& one, std::size_t from, std::size_t end) {
    const std::vector<std::uint32_t>& groups = apart_.groups_of(one.table);
    for (std::size_t w = from / 64; w * 64 < end; ++w) {
      if (!budget_.take(1 + groups.size())) return kNone;
      std::uint64_t free = one.allowed.word(w);
      if (w == from / 64) free &= ~std::uint64_t{0} >> (from % 64);
      for (std::size_t g = 0; g < groups.size() && free != 0; ++g)
        free &= ~taken_.of_group(groups[g]).word(w);
      if (free == 0) continue;
      const std::size_t device = w * 64 + static_cast<std::size_t>(std::countl_zero(free));
      return device < end ? device : kNone;
    }
    return kNone;
  }

  void give(ApartTable& one, std::size_t device) {
    taken_.take(one.table, device);
    one.devices.push_back(static_cast<int>(device));
    one.room += rooms_[device];
  }

  /// Tables that find no device left are the first to choose next time.
  bool give_all_first() {
    for (std::size_t tries = 0; tries < kMostOrders; ++tries) {
      sort_by_room();
      const auto without =
          std::ranges::find_if(tables_, [&](ApartTable& one) { return !give_first(one); });
      if (budget_.spent()) return false;
      if (without == tables_.end()) return true;
      std::rotate(tables_.begin(), without, without + 1);
      free_ = rooms_;
      taken_ = TakenDevices(apart_, rooms_.size());
      for (ApartTable& one : tables_) {
        one.devices.clear();
        one.room = 0;
      }
    }
    return false;
  }

  void sort_by_room() {
    by_room_.clear();
    for (std::size_t device = 0; device < free_.size(); ++device) {
      by_room_.emplace(-free_[device], device);
    }
  }

  /// The one that has most room left.
  bool give_first(ApartTable& one) {
    std::size_t most = kNone;
    const std::size_t groups = apart_.groups_of(one.table).size();
    for (const auto& [room, device] : by_room_) {
      if (!budget_.take(1 + groups)) return false;
      if (!is_free(one, device)) continue;
      most = device;
      break;
    }
    if (most == kNone) return false;
    give(one, most);
    by_room_.erase({-free_[most], most});
    free_[most] -= one.bytes;
    by_room_.emplace(-free_[most], most);
    one.next = most + 1;
    return true;
  }

  /// Devices go, one by one, to the table that has least of them for what it has to do; those that
  /// lack memory first. Once the budget is spent, the others stay unused.
  void share_out_the_rest() {
    using Wish = std::tuple<bool, double, std::size_t>;
    const auto wish = [&](std::size_t i) {
      const ApartTable& one = tables_[i];
      return Wish(one.room < one.bytes, one.load / static_cast<double>(one.devices.size()),
                  tables_.size() - i);
    };
    std::priority_queue<Wish> wishes;
    for (std::size_t i = 0; i < tables_.size(); ++i) wishes.push(wish(i));
    while (!wishes.empty()) {
      const std::size_t i = tables_.size() - std::get<2>(wishes.top());
      wishes.pop();
      ApartTable& one = tables_[i];
      if (one.devices.size() >= one.most_devices) continue;
      const std::size_t device = next_free(one);
      if (budget_.spent()) return;
      if (device == kNone) continue;
      give(one, device);
      wishes.push(wish(i));
    }
  }

  /// In a circle, from the one after the last that the table got. A device that is taken stays so:
  /// none is looked at twice.
  std::size_t next_free(ApartTable& one) {
    const std::size_t devices = rooms_.size();
    while (one.tried < devices) {
      const std::size_t from = one.next % devices;
      const std::size_t end = std::min(devices, from + devices - one.tried);
      const std::size_t device = first_free(one, from, end);
      const std::size_t looked_at = (device == kNone ? end : device + 1) - from;
      one.tried += looked_at;
      one.next = from + looked_at;
      if (device != kNone) return device;
    }
    return kNone;
  }

  const Task& task_;
  ApartTables apart_;
  std::vector<std::int64_t> rooms_;
  std::vector<std::int64_t> free_;
  std::set<std::pair<std::int64_t, std::size_t>> by_room_;  ///< Bytes free, negated; device.
  TakenDevices taken_;
  std::vector<ApartTable> tables_;
  StepBudget budget_;
};

}  // namespace

std::optional<Task> with_devices_of_apart_tables(const Task& task, const StopCondition& stop) {
  return task.groups.empty() ? task : DevicesOfApartTables(task, stop).run();
}

}  // namespace neuroshard
