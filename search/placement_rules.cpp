#include "search/placement_rules.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/table_rules.h"

namespace neuroshard {

std::optional<PlacementRules> placement_rules(const PieceCatalog& catalog, const Task& task) {
  if (has_equal_devices(task) && !any_limits_devices(task)) return std::nullopt;
  PlacementRules rules;
  rules.compute = compute_on_devices(task);
  const std::int64_t largest = largest_room_bytes(task);
  for (const std::int64_t room : rooms_bytes(task)) rules.base_bytes.push_back(largest - room);
  rules.set_of_piece.assign(catalog.size(), PlacementRules::kAnyDevice);
  std::map<std::vector<bool>, int> known;
  for (std::size_t table = 0; table < catalog.tables(); ++table) {
    const TableRules& of_table = task.tables[table].rules;
    if (!of_table.limit_devices()) continue;
    const auto [entry, is_new] =
        known.try_emplace(allowed_devices(of_table, task), static_cast<int>(rules.sets.size()));
    if (is_new) rules.sets.push_back(entry->first);
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
    rooms[table] = 0;
    const std::vector<bool> allowed = allowed_devices(rules, task);
    for (std::size_t d = 0; d < allowed.size(); ++d) {
      if (allowed[d]) rooms[table] = std::max(rooms[table], of_devices[d]);
    }
  }
  return rooms;
}

}  // namespace neuroshard
