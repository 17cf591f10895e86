#include "search/apart_devices.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "core/table_groups.h"
#include "core/table_rules.h"

namespace neuroshard {
namespace {

constexpr std::size_t kMostOrders = 16;  // Orders in which tables choose.

/// A table that groups keep from others.
struct ApartTable {
  std::size_t table = 0;
  std::vector<bool> allowed;  ///< [devices]
  std::size_t most_devices = 0;
  double load = 0.0;  ///< Lookups and columns: what operator and all-to-alls cost grows with them.
  std::int64_t bytes = 0;
  std::int64_t room = 0;  ///< Of its devices.
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
  DevicesOfApartTables(const Task& task, const std::vector<std::vector<int>>& held)
      : task_(task),
        held_(held),
        apart_(task),
        rooms_(rooms_bytes(task)),
        free_(rooms_),
        taken_(apart_.groups(), std::vector<bool>(rooms_.size(), false)) {
    for (std::size_t t = 0; t < task.tables.size(); ++t) {
      if (apart_.groups_of(t).empty()) continue;
      const Table& table = task.tables[t];
      tables_.push_back({.table = t,
                         .allowed = allowed_devices(table.rules, task),
                         .most_devices = most_slices(table),
                         .load = table.dim * (1.0 + table.pooling_factor),
                         .bytes = table.size_bytes()});
    }
    // Those that few devices may hold choose first, and of these the largest.
    std::ranges::stable_sort(tables_, {}, [](const ApartTable& one) {
      return std::pair(std::ranges::count(one.allowed, true), -one.bytes);
    });
  }

  std::optional<Task> run() {
    if (!give_all_first()) return std::nullopt;
    if (!held_.empty()) give_what_is_held();
    share_out_the_rest();
    Task task = task_;
    task.groups.clear();
    for (ApartTable& one : tables_) {
      task.tables[one.table].rules.limit_to(std::move(one.devices));
    }
    return task;
  }

 private:
  [[nodiscard]] bool is_free(const ApartTable& one, std::size_t device) const {
    return one.allowed[device] &&
           std::ranges::none_of(apart_.groups_of(one.table), [&](std::uint32_t group) {
             return static_cast<bool>(taken_[group][device]);
           });
  }

  void give(ApartTable& one, std::size_t device) {
    for (const std::uint32_t group : apart_.groups_of(one.table)) taken_[group][device] = true;
    one.devices.push_back(static_cast<int>(device));
    one.room += rooms_[device];
  }

  /// Tables that find no device left are the first to choose next time.
  bool give_all_first() {
    for (std::size_t tries = 0; tries < kMostOrders; ++tries) {
      const auto without =
          std::ranges::find_if(tables_, [&](ApartTable& one) { return !give_first(one); });
      if (without == tables_.end()) return true;
      std::rotate(tables_.begin(), without, without + 1);
      free_ = rooms_;
      taken_.assign(apart_.groups(), std::vector<bool>(rooms_.size(), false));
      for (ApartTable& one : tables_) {
        one.devices.clear();
        one.room = 0;
      }
    }
    return false;
  }

  /// The one that holds most of it, or has most room left.
  bool give_first(ApartTable& one) {
    const auto rank = [&](std::size_t device) {
      return std::pair(held_.empty() ? 0 : held_[one.table][device], free_[device]);
    };
    std::optional<std::size_t> most;
    for (std::size_t device = 0; device < rooms_.size(); ++device) {
      if (is_free(one, device) && (!most || rank(device) > rank(*most))) most = device;
    }
    if (!most) return false;
    give(one, *most);
    free_[*most] -= one.bytes;
    one.next = *most + 1;
    return true;
  }

  void give_what_is_held() {
    for (ApartTable& one : tables_) {
      for (std::size_t device = 0; device < rooms_.size(); ++device) {
        if (held_[one.table][device] > 0 && is_free(one, device)) give(one, device);
      }
    }
  }

  /// Devices go, one by one, to the table that has least of them for what it has to do; those that
  /// lack memory first.
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
      // A device that is taken stays so: none is looked at twice.
      for (; one.tried < rooms_.size(); ++one.tried) {
        const std::size_t device = one.next++ % rooms_.size();
        if (!is_free(one, device)) continue;
        give(one, device);
        wishes.push(wish(i));
        break;
      }
    }
  }

  const Task& task_;
  const std::vector<std::vector<int>>& held_;
  ApartTables apart_;
  std::vector<std::int64_t> rooms_;
  std::vector<std::int64_t> free_;
  std::vector<std::vector<bool>> taken_;  ///< [groups][devices]
  std::vector<ApartTable> tables_;
};

}  // namespace

std::optional<Task> with_devices_of_apart_tables(const Task& task,
                                                 const std::vector<std::vector<int>>& held) {
  return DevicesOfApartTables(task, held).run();
}

}  // namespace neuroshard
