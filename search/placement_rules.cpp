#include "search/placement_rules.h"

#include <algorithm>
#include <map>

#include "core/base/device_set.h"
#include "core/tables/table_rules.h"

namespace neuroshard {

std::optional<PlacementRules> placement_rules(const PieceCatalog& catalog, const Task& task) {
  if (has_equal_devices(task) && !any_limits_devices(task)) return std::nullopt;
  PlacementRules rules;
  rules.compute = compute_on_devices(task);
  const std::vector<std::int64_t> rooms = even_rooms_bytes(task);
  const std::int64_t largest = std::ranges::max(rooms);
  for (const std::int64_t room : rooms) rules.base_bytes.push_back(largest - room);
  rules.set_of_piece.assign(catalog.size(), PlacementRules::kAnyDevice);
  std::map<DeviceSet, int> known;
  for (std::size_t table = 0; table < catalog.tables(); ++table) {
    const TableRules& of_table = task.tables[table].rules;
    if (!of_table.limit_devices()) continue;
    const auto [entry, is_new] =
        known.try_emplace(allowed_set(of_table, task), static_cast<int>(rules.sets.size()));
    if (is_new) {
      std::vector<bool>& set = rules.sets.emplace_back(rooms.size(), false);
      for (const int device : entry->first.list()) set[static_cast<std::size_t>(device)] = true;
    }
    std::uint32_t piece = catalog.whole(table);
    for (;; piece = catalog.half(piece)) {
      rules.set_of_piece[piece] = entry->second;
      if (!catalog.can_split(piece)) break;
    }
  }
  return rules;
}

std::vector<std::int64_t> largest_rooms_bytes(const Task& task) {
  std::vector<std::int64_t> rooms(task.tables.size(), largest_room_bytes(task));
  if (task.device_list.empty()) return rooms;
  const std::vector<std::int64_t> of_devices = rooms_bytes(task);
  for (std::size_t table = 0; table < rooms.size(); ++table) {
    const TableRules& rules = task.tables[table].rules;
    if (!rules.limit_devices()) continue;
    const DeviceSet allowed = allowed_set(rules, task);
    rooms[table] = 0;
    for (std::size_t d = 0; d < of_devices.size(); ++d) {
      if (allowed.contains(d)) rooms[table] = std::max(rooms[table], of_devices[d]);
    }
  }
  return rooms;
}

}  // namespace neuroshard
