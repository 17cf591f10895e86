#include "bench/inputs/plan_cases.h"

#include <algorithm>
#include <numeric>

#include "core/base/random.h"
#include "neuroshard/error.h"
#include "neuroshard/task_file.h"
#include "weights/collection/sample_draws.h"
#include "weights/lookups/wide_population.h"

namespace neuroshard::bench {
namespace {

constexpr std::uint64_t kMostWideTables = 200;

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) {
    throw Error(folder.string() +
                    ": is not a folder; run from the top of the repository, or name a folder of "
                    "task files like bench/data/table_sets",
                ErrorKind::kIo);
  }
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool may_fit(const Task& task) {
  const double needed = std::accumulate(
      task.tables.begin(), task.tables.end(), 0.0,
      [](double sum, const Table& table) { return sum + static_cast<double>(table.size_bytes()); });
  return needed <= static_cast<double>(total_room_bytes(task));
}

}  // namespace

std::vector<PlanCase> golden_cases(const GoldenFolder& folder, std::vector<std::string> set_names,
                                   std::size_t max_tasks) {
  if (set_names.empty()) set_names = folder.set_names();
  std::vector<PlanCase> cases;
  for (const std::string& name : set_names) {
    TaskSet set = folder.load_set(name, max_tasks, /*published_only=*/false);
    for (std::size_t i = 0; i < set.tasks.size(); ++i) {
      cases.push_back({name + " task " + std::to_string(i), std::move(set.tasks[i])});
    }
  }
  return cases;
}

std::vector<PlanCase> table_set_cases(const TableSetOptions& sets, const HostMemory& host) {
  const std::filesystem::path folder = sets.folder;
  const std::vector<std::string> names = sets.names.empty() ? names_in(folder) : sets.names;
  std::vector<PlanCase> cases;
  for (const int count : sets.devices) {
    for (const std::string& name : names) {
      Task task = load_whole_task(folder / (name + ".json"), count, sets.memory_gib);
      task.host = host;
      if (may_fit(task)) cases.push_back({name, std::move(task)});
    }
  }
  return cases;
}

std::vector<PlanCase> wide_cases(int count, const std::vector<int>& devices, double memory_gib,
                                 std::uint64_t seed) {
  std::vector<PlanCase> cases;
  for (const int of_task : devices) {
    for (int i = 0; i < count; ++i) {
      Random random(seed + static_cast<std::uint64_t>(of_task), static_cast<std::uint64_t>(i));
      Task task{.devices = of_task, .memory_bytes = bytes_from_gib(memory_gib)};
      task.tables = draw_wide_population(
          {.tables = static_cast<int>(1 + random.below(kMostWideTables)), .seed = random.next()});
      for (Table& table : task.tables) table.dim = draw_dim(random);
      while (!task.tables.empty() && !may_fit(task)) task.tables.pop_back();
      if (task.tables.empty()) continue;
      cases.push_back({"wide " + std::to_string(i), std::move(task)});
    }
  }
  return cases;
}

std::vector<PlanCase> cases_of(const TableSetOptions& sets, int random_tasks, std::uint64_t seed) {
  return random_tasks == 0 ? table_set_cases(sets)
                           : wide_cases(random_tasks, sets.devices, sets.memory_gib, seed);
}

}  // namespace neuroshard::bench
