#include "search/infeasibility/rule_proofs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/device_set.h"
#include "core/base/message_text.h"
#include "core/tables/table_groups.h"
#include "core/tables/table_label.h"
#include "core/tables/table_rules.h"
#include "search/infeasibility/infeasibility.h"

namespace neuroshard {
namespace {

// Numbers of FilledDevices: 16 MiB. Sets of devices beyond them are left out.
constexpr std::size_t kMostFillings = std::size_t{1} << 21;

/// Tables that may go to the same devices.
struct TableTotals {
  std::int64_t bytes = 0;
  std::size_t tables = 0;
  int largest = -1;  ///< Table.

  void add(const TableTotals& more, const Task& task) {
    bytes += more.bytes;
    tables += more.tables;
    const auto size = [&](int table) {
      return table < 0 ? 0 : task.tables[static_cast<std::size_t>(table)].size_bytes();
    };
    if (size(more.largest) > size(largest)) largest = more.largest;
  }
};

TableTotals totals_of(const Task& task, const TableBundle& tables) {
  TableTotals all;
  for (const std::uint32_t t : tables) {
    all.add({.bytes = task.tables[t].size_bytes(), .tables = 1, .largest = static_cast<int>(t)},
            task);
  }
  return all;
}

/// "device 2", "devices 0, 4 to 7".
std::string listed_devices(const std::vector<int>& devices) {
  std::string numbers;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const int first = devices[i];
    while (i + 1 < devices.size() && devices[i + 1] == devices[i] + 1) ++i;
    const int last = devices[i];
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(first);
    if (last > first) numbers += (last > first + 1 ? " to " : ", ") + std::to_string(last);
  }
  return (devices.size() == 1 ? "device " : "devices ") + numbers;
}

// Tables that must be on one device need one that has room for all of them.
std::optional<Infeasibility> proof_by_bundles(const Task& task, StepBudget& budget) {
  const std::vector<std::int64_t> rooms = rooms_bytes(task);
  for (const TableBundle& bundle : table_bundles(task)) {
    if (!budget.take(bundle.size() + rooms.size())) return std::nullopt;
    const TableTotals all = totals_of(task, bundle);
    const DeviceSet allowed = allowed_set(task, bundle);
    std::int64_t room = 0;
    for (std::size_t d = 0; d < rooms.size(); ++d) {
      if (allowed.contains(d)) room = std::max(room, rooms[d]);
    }
    if (all.bytes <= room) continue;
    Infeasibility why = infeasibility_of(task, Infeasibility::Kind::kRules);
    why.table = all.largest;
    why.largest_piece_bytes = all.bytes;
    why.message = "groups keep " + counted(all.tables, "table") +
                  " together, the largest of which is " + label_of(task, all.largest) +
                  ", and they need " + format_bytes(all.bytes) +
                  " on one device, but the largest device for them has room for " +
                  format_bytes(room) + ": " + format_bytes(all.bytes - room) +
                  " are short; take tables out of the group, or use devices with more memory";
    return why;
  }
  return std::nullopt;
}

/// By the devices that may hold them.
using TotalsOfDevices = std::map<DeviceSet, TableTotals>;

/// Not of all tables if the budget is spent.
TotalsOfDevices totals_of_devices(const Task& task, StepBudget& budget) {
  TotalsOfDevices totals;
  for (const TableBundle& tables : tables_by_bundle(task)) {
    if (!budget.take(static_cast<std::size_t>(task.devices) + tables.size())) break;
    totals[allowed_set(task, tables)].add(totals_of(task, tables), task);
  }
  return totals;
}

// `devices` must hold all tables that may go nowhere else.
std::optional<Infeasibility> proof_for(const Task& task, const TotalsOfDevices& totals,
                                       const DeviceSet& of_proof) {
  const std::vector<std::int64_t> rooms = rooms_bytes(task);
  const std::vector<int> devices = of_proof.list();
  std::int64_t room = 0;
  for (const int d : devices) {
    if (__builtin_add_overflow(room, rooms[static_cast<std::size_t>(d)], &room)) room = INT64_MAX;
  }
  TableTotals all;
  for (const auto& [allowed, of_allowed] : totals) {
    if (allowed.is_in(of_proof)) all.add(of_allowed, task);
  }
  if (all.bytes <= room) return std::nullopt;
  Infeasibility why = infeasibility_of(task, Infeasibility::Kind::kRules);
  why.table = all.largest;
  why.largest_piece_bytes = task.tables[static_cast<std::size_t>(all.largest)].size_bytes();
  const std::string largest = label_of(task, all.largest);
  const bool one_device = devices.size() == 1;
  why.message = (all.tables == 1 ? largest + " may by its rules only go to "
                                 : counted(all.tables, "table") + ", the largest of which is " +
                                       largest + ", may by their rules only go to ") +
                listed_devices(devices) + (all.tables == 1 ? " and needs " : " and need ") +
                format_bytes(all.bytes) + (one_device ? ", but that holds " : ", but these hold ") +
                format_bytes(room) + ": " + format_bytes(all.bytes - room) +
                " are short; allow more devices, or give " + (one_device ? "that" : "these") +
                " more memory";
  return why;
}

std::optional<Infeasibility> proof_by_device_rules(const Task& task, const TotalsOfDevices& totals,
                                                   StepBudget& budget) {
  for (const auto& [devices, of_devices] : totals) {
    if (!budget.take(totals.size() + static_cast<std::size_t>(task.devices))) break;
    if (auto proof = proof_for(task, totals, devices)) return proof;
  }
  return std::nullopt;
}

/// Fills devices with the bytes of tables, cut as finely as one likes, by augmenting paths (Ford
/// and Fulkerson 1956).
class FilledDevices {
 public:
  FilledDevices(const TotalsOfDevices& totals, std::vector<std::int64_t> rooms, StepBudget& budget)
      : free_(std::move(rooms)), budget_(budget), reached_(free_.size()) {
    for (const auto& [devices, of_devices] : totals) {
      if (fillings_.size() * free_.size() >= kMostFillings || !budget.take(free_.size())) break;
      fillings_.push_back({devices, of_devices.bytes, std::vector<std::int64_t>(free_.size(), 0)});
    }
  }

  /// Devices that have no room for all tables that may go nowhere else; nothing if there are none,
  /// or the budget is spent.
  std::optional<DeviceSet> without_room() {
    for (std::size_t g = 0; g < fillings_.size(); ++g) {
      while (fillings_[g].bytes > 0) {
        const bool placed = place_some(g);
        if (budget_.spent()) return std::nullopt;
        if (!placed) return reached_;
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  struct Filling {
    const DeviceSet& allowed;
    std::int64_t bytes = 0;              ///< That have no place yet.
    std::vector<std::int64_t> placed{};  ///< [devices]
  };

  /// Places some bytes of `first` where there is room, while others make room for it.
  bool place_some(std::size_t first) {
    if (!budget_.take(free_.size() + fillings_.size())) return false;
    reached_ = DeviceSet(free_.size());
    std::vector<std::size_t> device_before(fillings_.size(), kNone);
    std::vector<std::size_t> reached_from(free_.size(), kNone);
    std::vector<bool> seen(fillings_.size(), false);
    std::vector<std::size_t> queue{first};
    seen[first] = true;
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const std::size_t g = queue[next];
      if (!budget_.take(free_.size())) return false;
      for (std::size_t d = 0; d < free_.size(); ++d) {
        if (reached_.contains(d) || !fillings_[g].allowed.contains(d)) continue;
        reached_.insert(d);
        reached_from[d] = g;
        if (free_[d] > 0) {
          shift_bytes(d, first, reached_from, device_before);
          return true;
        }
        if (!budget_.take(fillings_.size())) return false;
        for (std::size_t other = 0; other < fillings_.size(); ++other) {
          if (seen[other] || fillings_[other].placed[d] == 0) continue;
          seen[other] = true;
          device_before[other] = d;
          queue.push_back(other);
        }
      }
    }
    return false;
  }

  void shift_bytes(std::size_t device, std::size_t first,
                   const std::vector<std::size_t>& reached_from,
                   const std::vector<std::size_t>& device_before) {
    std::int64_t bytes = std::min(free_[device], fillings_[first].bytes);
    for (std::size_t d = device; reached_from[d] != first;) {
      const std::size_t g = reached_from[d];
      d = device_before[g];
      bytes = std::min(bytes, fillings_[g].placed[d]);
    }
    free_[device] -= bytes;
    fillings_[first].bytes -= bytes;
    for (std::size_t d = device;;) {
      const std::size_t g = reached_from[d];
      fillings_[g].placed[d] += bytes;
      if (g == first) return;
      d = device_before[g];
      fillings_[g].placed[d] -= bytes;
    }
  }

  std::vector<Filling> fillings_;
  std::vector<std::int64_t> free_;  ///< [devices]
  StepBudget& budget_;
  DeviceSet reached_;  ///< By the last search for room.
};

}  // namespace

std::optional<Infeasibility> proof_by_rules(const Task& task, StepBudget& budget) {
  if (!task.groups.empty()) {
    if (auto proof = proof_by_bundles(task, budget)) return proof;
    if (auto proof = proof_by_apart_tables(task, budget)) return proof;
  }
  if (!any_limits_devices(task)) return std::nullopt;
  const TotalsOfDevices totals = totals_of_devices(task, budget);
  if (auto proof = proof_by_device_rules(task, totals, budget)) return proof;
  // Any other devices, such as those that two tables may go to together.
  const auto devices = FilledDevices(totals, rooms_bytes(task), budget).without_room();
  return devices ? proof_for(task, totals, *devices) : std::nullopt;
}

}  // namespace neuroshard
