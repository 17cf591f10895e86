#include "bench/inputs/task_sets.h"

#include <algorithm>
#include <limits>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/base/number_in.h"
#include "neuroshard/error.h"
#include "neuroshard/task_file.h"
#include "neuroshard/weights.h"
#include "weights/files/json_reader.h"
#include "weights/files/read_file.h"

namespace neuroshard::bench {
namespace {

constexpr double kPublishedMemoryGib = 4.0;

// "16gpu_dim128" is for 16 devices; 0 if a name says nothing of the kind.
int devices_of(const std::string& set_name) {
  const std::size_t digits = set_name.find("gpu");
  if (digits > 4) return 0;
  return std::max(0, number_in<int>(std::string_view(set_name).substr(0, digits)).value_or(0));
}

std::map<std::int64_t, PublishedRun> read_published(const std::filesystem::path& path) {
  std::map<std::int64_t, PublishedRun> runs;
  if (!std::filesystem::exists(path)) return runs;
  std::istringstream lines(read_file(path));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string where = path.string() + " line " + std::to_string(++number);
    const JsonDocument document = parse_json(line, where);
    const JsonObject entry(document.root(), where);
    PublishedRun run;
    if (!entry.value("cost").is_null()) run.cost_ms = entry.number("cost", 0.0);
    run.seconds = entry.number("seconds", 0.0);
    runs[entry.integer("task", 0, std::numeric_limits<int>::max())] = run;
  }
  return runs;
}

}  // namespace

bool TaskSet::has_published() const {
  return std::any_of(published.begin(), published.end(), [](const auto& run) { return !!run; });
}

GoldenFolder::GoldenFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
  if (std::filesystem::is_directory(folder_ / "tasks")) return;
  throw Error(
      folder_.string() +
          ": has no folder 'tasks'; run from the top of the repository, or say --data FOLDER "
          "(a folder like tests/data/golden)",
      ErrorKind::kIo);
}

std::vector<std::string> GoldenFolder::set_names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "tasks")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".txt" && devices_of(name) > 0) names.push_back(name);
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    // Shorter first, so that dim64 precedes dim128.
    return std::tuple(devices_of(a), a.size(), a) < std::tuple(devices_of(b), b.size(), b);
  });
  return names;
}

std::vector<std::string> GoldenFolder::published_set_names() const {
  std::vector<std::string> names = set_names();
  std::erase_if(names, [&](const std::string& name) {
    return !std::filesystem::exists(folder_ / "plans" / (name + ".jsonl"));
  });
  return names;
}

TaskSet GoldenFolder::load_set(const std::string& name, std::size_t max_tasks,
                               bool published_only) const {
  const int devices = devices_of(name);
  if (devices == 0) {
    throw Error("task set '" + name +
                "': the name does not start with a device count; use one of '" +
                (folder_ / "tasks").string() + "', e.g. 4gpu_dim128");
  }
  const auto published = read_published(folder_ / "plans" / (name + ".jsonl"));
  const TableConfigs configs = load_table_configs(folder_ / "tables" / "table_configs.json");
  TaskSet set{.name = name, .tasks = {}, .published = {}};
  std::int64_t index = -1;
  for (TaskFile& file : load_task_lines(folder_ / "tasks" / (name + ".txt"), configs)) {
    if (set.tasks.size() == max_tasks) break;
    const auto run = published.find(++index);
    if (published_only && run == published.end()) continue;
    set.tasks.push_back({.tables = std::move(file.tables),
                         .devices = devices,
                         .memory_bytes = bytes_from_gib(kPublishedMemoryGib)});
    set.published.push_back(run == published.end() ? std::nullopt : std::optional(run->second));
  }
  return set;
}

TaskSet GoldenFolder::draw_set(const TaskDrawOptions& options, std::size_t tasks,
                               double memory_gib) const {
  TableConfigs configs = load_table_configs(folder_ / "tables" / "table_configs.json");
  std::string lines;
  for (std::size_t i = 0; i < tasks; ++i) {
    Random random(static_cast<std::uint64_t>(options.max_dim), i);
    lines += draw_task_line(configs.tables, options, random) + '\n';
  }
  TaskSet set{.name = std::to_string(options.devices) + "gpu_dim" +
                      std::to_string(options.max_dim) + "_drawn",
              .tasks = {},
              .published = {}};
  for (TaskFile& file : parse_task_lines(lines, set.name, configs)) {
    set.tasks.push_back({.tables = std::move(file.tables),
                         .devices = options.devices,
                         .memory_bytes = bytes_from_gib(memory_gib)});
    set.published.emplace_back();
  }
  return set;
}

std::vector<Table> GoldenFolder::tables() const {
  return load_table_configs(folder_ / "tables" / "table_configs.json").tables;
}

CostModels GoldenFolder::models() const {
  CostModels models;
  models.compute = load_compute_checkpoint(folder_ / "models" / "compute.pt");
  for (int devices = 1; devices <= kMostDevicesOfModels; ++devices) {
    const std::string stem = "comm_" + std::to_string(devices);
    const std::filesystem::path forward = folder_ / "models" / (stem + "_fw.pt");
    const std::filesystem::path backward = folder_ / "models" / (stem + "_bw.pt");
    if (!std::filesystem::exists(forward)) continue;
    add_comm_checkpoints(models, forward, backward);
  }
  models.metadata["source"] = "checkpoints in " + (folder_ / "models").string();
  return models;
}

Task load_whole_task(const std::filesystem::path& path, int devices, double memory_gib) {
  Task task = stated_task(load_task(path));
  task.device_list.clear();
  if (devices > 0) task.devices = devices;
  if (memory_gib > 0.0) task.memory_bytes = bytes_from_gib(memory_gib);
  if (task.devices > 0 && task.memory_bytes > 0) return task;
  throw Error(path.string() + ": states no devices or no memory; say --devices and --memory-gb");
}

}  // namespace neuroshard::bench
