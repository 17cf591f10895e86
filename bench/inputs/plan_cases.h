#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/inputs/task_sets.h"
#include "neuroshard/task.h"

namespace neuroshard::bench {

/// A task that is planned to see how good its plan is.
struct PlanCase {
  std::string name;
  Task task;
};

/// The first `max_tasks` tasks of each of the folder's sets of these names; no names: of all sets.
[[nodiscard]] std::vector<PlanCase> golden_cases(const GoldenFolder& folder,
                                                 std::vector<std::string> set_names,
                                                 std::size_t max_tasks);

/// Table sets (FOLDER/NAME.json) on numbers of devices.
struct TableSetOptions {
  std::string folder = "bench/data/table_sets";
  std::vector<std::string> names{};  ///< Empty: all.
  std::vector<int> devices{};
  double memory_gib = 40.0;
};

/// The table sets on each number of devices, with `host` beside them, by device count. Leaves out
/// where the tables exceed all memory together. Throws Error naming the file.
[[nodiscard]] std::vector<PlanCase> table_set_cases(const TableSetOptions& sets,
                                                    const HostMemory& host = {});

/// `count` tasks for each number of devices of `memory_gib`, by device count: of 1 to 200 tables of
/// every kind, small and large (draw_wide_population()), with dims of 4 to 256, one in eight no
/// power of two. Each is the same whatever the count. The last tables go as long as all together
/// exceed the devices; a task that loses all of them is left out.
[[nodiscard]] std::vector<PlanCase> wide_cases(int count, const std::vector<int>& devices,
                                               double memory_gib, std::uint64_t seed);

/// The table sets or, in their place, so many wide_cases() unless it is 0.
[[nodiscard]] std::vector<PlanCase> cases_of(const TableSetOptions& sets, int random_tasks,
                                             std::uint64_t seed);

}  // namespace neuroshard::bench
