#pragma once

#include <cstdint>
#include <filesystem>
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

/// The table sets (FOLDER/NAME.json) of these names, or all, on each number of devices of
/// `memory_gib`, with `host` beside it, by device count. Leaves out where the tables exceed all
/// memory together. Throws Error naming the file.
[[nodiscard]] std::vector<PlanCase> table_set_cases(const std::filesystem::path& folder,
                                                    std::vector<std::string> names,
                                                    const std::vector<int>& devices,
                                                    double memory_gib, const HostMemory& host = {});

/// `count` tasks for each number of devices of `memory_gib`, by device count: of 1 to 200 tables of
/// every kind, small and large (draw_wide_population()), with dims of 4 to 256, one in eight no
/// power of two. Each is the same whatever the count. The last tables go as long as all together
/// exceed the devices; a task that loses all of them is left out.
[[nodiscard]] std::vector<PlanCase> wide_cases(int count, const std::vector<int>& devices,
                                               double memory_gib, std::uint64_t seed);

}  // namespace neuroshard::bench
