#include "search/infeasibility/rule_proofs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/message_text.h"
#include "core/table_groups.h"
#include "core/table_label.h"
#include "core/table_rules.h"
#include "search/infeasibility/apart_proofs.h"
#include "search/infeasibility/infeasibility.h"

namespace neuroshard {
namespace {

/// Tables that may go to the same devices.
struct Guests {
  std::int64_t bytes = 0;
  std::size_t tables = 0;
  int largest = -1;  ///< Table.

  void add(const Guests& more, const Task& task) {
    bytes += more.bytes;
    tables += more.tables;
    const auto size = [&](int table) {
      return table < 0 ? 0 : task.tables[static_cast<std::size_t>(table)].size_bytes();
    };
    if (size(more.largest) > size(largest)) largest = more.largest;
  }
};

bool is_subset(const std::vector<bool>& some, const std::vector<bool>& of) {
  for (std::size_t d = 0; d < some.size(); ++d) {
    if (some[d] && !of[d]) return false;
  }
  return true;
}

/// "device 2", "devices 0, 4 to 7".
std::string listed_devices(const std::vector<bool>& devices) {
  const std::string name = std::ranges::count(devices, true) == 1 ? "device " : "devices ";
  std::string numbers;
  for (std::size_t first = 0; first < devices.size(); ++first) {
    if (!devices[first]) continue;
    std::size_t last = first;
    while (last + 1 < devices.size() && devices[last + 1]) ++last;
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(first);
    if (last > first) numbers += (last > first + 1 ? " to " : ", ") + std::to_string(last);
    first = last;
  }
  return name + numbers;
}

// Tables that must be on one device need one that has room for all of them.
std::optional<Infeasibility> proof_by_bundles(const Task& task) {
  const std::vector<std::int64_t> rooms = rooms_bytes(task);
  for (const TableBundle& bundle : table_bundles(task)) {
    Guests all;
    for (const std::uint32_t t : bundle) {
      all.add({.bytes = task.tables[t].size_bytes(), .tables = 1, .largest = static_cast<int>(t)},
              task);
    }
    const std::vector<bool> allowed = allowed_devices(task, bundle);
    std::int64_t room = 0;
    for (std::size_t d = 0; d < rooms.size(); ++d) {
      if (allowed[d]) room = std::max(room, rooms[d]);
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

// Tables that may only go to some devices: these must hold all of them.
std::optional<Infeasibility> proof_by_device_rules(const Task& task) {
  std::map<std::vector<bool>, Guests> guests;
  std::vector<std::vector<bool>> of_bundles(task.tables.size());
  for (const TableBundle& bundle : table_bundles(task)) {
    for (const std::uint32_t t : bundle) of_bundles[t] = allowed_devices(task, bundle);
  }
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    const std::vector<bool> allowed =
        of_bundles[t].empty() ? allowed_devices(table.rules, task) : of_bundles[t];
    guests[allowed].add({.bytes = table.size_bytes(), .tables = 1, .largest = static_cast<int>(t)},
                        task);
  }
  const std::vector<std::int64_t> rooms = rooms_bytes(task);
  for (const auto& entry : guests) {
    const std::vector<bool>& devices = entry.first;
    std::int64_t room = 0;
    for (std::size_t d = 0; d < rooms.size(); ++d) {
      if (devices[d] && __builtin_add_overflow(room, rooms[d], &room)) room = INT64_MAX;
    }
    Guests all;
    for (const auto& [fewer, of_fewer] : guests) {
      if (is_subset(fewer, devices)) all.add(of_fewer, task);
    }
    if (all.bytes <= room) continue;
    Infeasibility why = infeasibility_of(task, Infeasibility::Kind::kRules);
    why.table = all.largest;
    why.largest_piece_bytes = task.tables[static_cast<std::size_t>(all.largest)].size_bytes();
    const std::string largest = label_of(task, all.largest);
    const bool one_device = std::ranges::count(devices, true) == 1;
    why.message = (all.tables == 1 ? largest + " may by its rules only go to "
                                   : counted(all.tables, "table") + ", the largest of which is " +
                                         largest + ", may by their rules only go to ") +
                  listed_devices(devices) + (all.tables == 1 ? " and needs " : " and need ") +
                  format_bytes(all.bytes) +
                  (one_device ? ", but that holds " : ", but these hold ") + format_bytes(room) +
                  ": " + format_bytes(all.bytes - room) +
                  " are short; allow more devices, or give " + (one_device ? "that" : "these") +
                  " more memory";
    return why;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Infeasibility> proof_by_rules(const Task& task) {
  if (!task.groups.empty()) {
    if (auto proof = proof_by_bundles(task)) return proof;
    if (auto proof = proof_by_apart_tables(task)) return proof;
  }
  return any_limits_devices(task) ? proof_by_device_rules(task) : std::nullopt;
}

}  // namespace neuroshard
