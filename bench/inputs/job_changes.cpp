#include "bench/inputs/job_changes.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace neuroshard::bench {
namespace {

Changed lose_devices(const Task& task, std::size_t count, Random& random) {
  Changed changed{task, {}};
  while (changed.lost_devices.size() < count) {
    const auto device = static_cast<int>(random.below(static_cast<std::size_t>(task.devices)));
    const auto& lost = changed.lost_devices;
    if (std::find(lost.begin(), lost.end(), device) == lost.end()) {
      changed.lost_devices.push_back(device);
    }
  }
  changed.task.devices -= static_cast<int>(count);
  return changed;
}

std::size_t any_table(const Task& task, Random& random) { return random.below(task.tables.size()); }

Changed add_tables(const Task& task, std::size_t count, Random& random) {
  Changed changed{task, {}};
  for (std::size_t i = 0; i < count; ++i) {
    Table table = task.tables[any_table(task, random)];
    table.name = "added " + std::to_string(changed.task.tables.size()) + " " + table.name;
    changed.task.tables.push_back(std::move(table));
  }
  return changed;
}

Changed double_table(const Task& task, Random& random) {
  Changed changed{task, {}};
  Table& table = changed.task.tables[any_table(task, random)];
  table.rows = std::min(2 * table.rows, kMaxRows);
  return changed;
}

Changed any_change(const Task& task, Random& random) {
  switch (random.below(4)) {
    case 0:
      return add_tables(task, 1, random);
    case 1:
      return double_table(task, random);
    case 2: {
      Changed changed{task, {}};
      changed.task.devices = std::min(task.devices + 1, kMaxDevices);
      return changed;
    }
    default:
      return lose_devices(task, 1, random);
  }
}

Changed other_statistics(const Task& task, Random& random) {
  Changed changed{task, {}};
  for (Table& table : changed.task.tables) table.pooling_factor *= 0.8 + 0.4 * random.uniform();
  return changed;
}

const std::vector<Scenario>& all_scenarios() {
  static const std::vector<Scenario> all = {
      {"2 devices lost", 1,
       [](const Task& task, Random& random) { return lose_devices(task, 2, random); }},
      {"1 % more tables", 1,
       [](const Task& task, Random& random) {
         return add_tables(task, (task.tables.size() + 99) / 100, random);
       }},
      {"one table doubled", 1, double_table},
      {"10 changes in a row", 10, any_change},
      {"10 changes, one account", 10, any_change, true},
      {"other pooling factors", 1, other_statistics},
  };
  return all;
}

}  // namespace

std::vector<const Scenario*> scenarios(const std::vector<std::string>& names) {
  std::vector<const Scenario*> wanted;
  for (const Scenario& scenario : all_scenarios()) {
    const bool is_wanted =
        names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
          return std::string_view(scenario.name).find(name) != std::string_view::npos;
        });
    if (is_wanted) wanted.push_back(&scenario);
  }
  return wanted;
}

}  // namespace neuroshard::bench
