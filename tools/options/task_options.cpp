#include "tools/options/task_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/base/message_text.h"
#include "core/base/number_in.h"
#include "core/tables/exchange_fields.h"
#include "core/tables/host_memory_fields.h"
#include "core/tables/node_link_fields.h"
#include "core/tables/overlap_fields.h"
#include "neuroshard/error.h"
#include "neuroshard/task_file.h"
#include "tools/command_line/options.h"
#include "tools/options/exchange_option.h"
#include "tools/options/hardware_option.h"
#include "tools/options/host_memory_option.h"
#include "tools/options/overlap_option.h"
#include "weights/files/json_reader.h"
#include "weights/files/read_file.h"

namespace neuroshard::tools {
namespace {

constexpr std::string_view kStandardInput = "-";

// No device has more. Somebody who gives MiB or bytes has to see it.
constexpr std::int64_t kMostUsualMemory = std::int64_t{1} << 40;

std::vector<TaskLine> load_files(const TaskOptions& options) {
  const bool published = !options.tables.empty() || !options.tasks.empty();
  if (options.task.empty() && !published) {
    throw Error("there is no task; give --task FILE, or --tables FILE and --tasks FILE");
  }
  if (!options.task.empty() && published) {
    throw Error("--task excludes --tables and --tasks; give one or the other");
  }
  if (!options.task.empty()) {
    if (options.index) throw Error("--index picks a line of --tasks; --task has one task only");
    TaskFile task = options.task == kStandardInput
                        ? parse_task(read_file("/dev/stdin", kMaxJsonBytes), "standard input")
                        : load_task(options.task);
    return {{std::move(task), std::nullopt}};
  }
  if (options.tables.empty() || options.tasks.empty()) {
    throw Error("--tables and --tasks belong together: ids in a task line count the tables");
  }
  std::vector<TaskLine> files =
      load_each_task_line(options.tasks, load_table_configs(options.tables));
  if (!options.index) return files;
  const long long index = *options.index;
  if (index < 0 || std::cmp_greater_equal(index, files.size())) {
    throw Error("--index " + std::to_string(index) + ": " + options.tasks + " has " +
                counted(files.size(), "task") + "; count from 0");
  }
  return {std::move(files[static_cast<std::size_t>(index)])};
}

/// Says which links costs are for, as pages otherwise say nothing but what the weights know.
std::string links_note(const Task& task) {
  std::string text = "links, in nodes of " + std::to_string(task.devices_per_node) + ":";
  const auto add = [&](const char* what, double gb_s) {
    if (gb_s != 0.0) text.append(" ").append(shortest_text(gb_s)).append(" GB/s ").append(what);
  };
  add("in a node;", task.links->in_node_gb_s);
  add("between nodes;", task.links->between_nodes_gb_s);
  add("of a whole node;", task.links->node_gb_s);
  add("from device to device;", task.links->peer_gb_s);
  add("through the host of a node;", task.links->host_gb_s);
  for (const LinkLevel& level : task.links->levels) {
    add(("beyond blocks of " + std::to_string(level.devices) + " devices;").c_str(), level.gb_s);
  }
  return text + " what is not stated is as in the network of the weights";
}

/// "576:12.5": blocks of so many devices, and GB/s beyond them.
LinkLevel link_level(const std::string& text) {
  const std::string_view level = text;
  const std::size_t colon = std::min(level.find(':'), level.size());
  const auto devices = number_in<int>(level.substr(0, colon));
  const auto gb_s = number_in<double>(level.substr(std::min(colon + 1, level.size())));
  if (devices && gb_s) return {*devices, *gb_s};
  throw Error("--link-levels '" + printable(text) +
              "' is no level; give devices and GB/s, as in 576:12.5");
}

NodeLinks stated_links(const TaskOptions& options) {
  NodeLinks links = options.links;
  for (const std::string& text : options.levels) links.levels.push_back(link_level(text));
  return links;
}

void apply_links(const NodeLinks& stated, Task& task) {
  if (stated == NodeLinks{}) return;
  NodeLinks links = task.links.value_or(NodeLinks{});
  for (const auto& [name, gb_s] : kNodeLinkFields) {
    if (stated.*gb_s != 0.0) links.*gb_s = stated.*gb_s;
  }
  if (!stated.levels.empty()) links.levels = stated.levels;
  task.links = links;
}

Task complete_task(const TaskFile& file, const TaskOptions& options) {
  OtherDevices other{.devices_remedy = "give --devices D", .memory_remedy = "give --memory-gb G"};
  if (!options.devices.empty()) other.devices = options.devices.front();
  if (!options.memory_gb.empty()) other.memory_bytes = memory_of_option(options.memory_gb.front());
  if (!other.devices && !file.devices) other.devices = options.devices_if_missing;
  if (!other.memory_bytes && !file.memory_bytes && file.device_list.empty()) {
    other.memory_bytes = options.memory_bytes_if_missing;
  }
  Task task = task_of(file, other);
  if (options.devices_per_node) task.devices_per_node = *options.devices_per_node;
  apply_links(stated_links(options), task);
  apply_exchange(options.exchange, task.exchange);
  apply_overlap(options.overlap, task.overlap);
  apply_host_memory(options.host_memory, task);
  options.memory.apply(task);
  if (!options.asks_what_if()) validate(task, file.where);
  return task;
}

void require_devices(const char* option, int devices) {
  if (devices >= 1 && devices <= kMaxDevices) return;
  throw Error(std::string(option) + " is " + std::to_string(devices) +
              "; give a number between 1 and " + std::to_string(kMaxDevices));
}

/// A value that no task may have is the option's fault, not the file's. With several --devices, an
/// impossible one does not cost the others.
void require_ranges(const TaskOptions& options) {
  if (options.devices.size() == 1) require_devices("--devices", options.devices.front());
  if (options.devices_per_node) require_devices("--devices-per-node", *options.devices_per_node);
  for (const auto& [name, gb_s] : kNodeLinkFields) {
    if (!std::isnan(options.links.*gb_s)) continue;  // Others are in range.
    std::string option(name);
    std::ranges::replace(option, '_', '-');
    throw Error("--" + option + " is nan; give GB/s between 0.001 and 1e6, or leave it out");
  }
  (void)stated_links(options);
  ExchangeTypes any;
  apply_exchange(options.exchange, any);
  Overlap any_overlap;
  apply_overlap(options.overlap, any_overlap);
  Task any_host{.host = {.bytes = 1, .link_gb_s = 1.0, .ssd_gb_s = 1.0}};
  apply_host_memory(options.host_memory, any_host);
  if (!options.lists && options.asks_what_if()) {
    throw Error("--host-memory: several sizes are for what-ifs of neuroshard plan; give one");
  }
  options.memory.require_ranges();
}

void add_link_options(const command_line::OptionGroup& group, NodeLinks& links) {
  const auto add = [&](const char* name, double& gb_s, const char* help) {
    group.add(name, "GB/s", gb_s, help)->check(CLI::Range(kLeastGbPerSecond, kMostGbPerSecond));
  };
  add("--in-node-gb-s", links.in_node_gb_s,
      "Bandwidth from a device to the others of its node, in place of the task file's");
  add("--between-nodes-gb-s", links.between_nodes_gb_s,
      "Bandwidth from a device to other nodes, in place of the task file's");
  add("--node-gb-s", links.node_gb_s,
      "Bandwidth from all devices of a node together to other nodes, in place of the task file's");
  add("--peer-gb-s", links.peer_gb_s,
      "Bandwidth from a device to one other of its node, in place of the task file's");
  add("--host-gb-s", links.host_gb_s,
      "Bandwidth through the host of a node, for all its devices together, in place of the task "
      "file's");
}

}  // namespace

bool TaskOptions::asks_what_if() const {
  return devices.size() > 1 || memory_gb.size() > 1 || host_sizes(host_memory).size() > 1;
}

std::int64_t memory_of_option(double gib) {
  try {
    const std::int64_t bytes = bytes_from_gib(gib);
    if (bytes > 0) return bytes;
  } catch (const Error& error) {
    throw Error(std::string("--memory-gb: ") + error.what());
  }
  throw Error("--memory-gb: " + shortest_text(gib) +
              " GiB is less than a byte; give the memory of a device, e.g. 4");
}

void add_task_options(CLI::App& command, TaskOptions& options, DeviceLists lists) {
  options.lists = lists == DeviceLists::kYes;
  const command_line::OptionGroup group(command, "Task");
  group.add("--task", "FILE", options.task, "Task file (docs/task_format.md); -: standard input");
  group.add("--tables", "FILE", options.tables,
            "Published format: table_configs.json, with --tasks");
  group.add("--tasks", "FILE", options.tasks, "Published format: one task a line");
  group.add("--index", "I", options.index,
            "Only this line of --tasks, counted from 0 (default: all of them)");
  const auto add = [&](const char* name, auto& values, const std::string& help, const char* type) {
    CLI::Option* const option = group.add(name, type, values, help);
    if (options.lists) {
      option->delimiter(',')->allow_extra_args(false);
    } else {
      option->expected(1);
    }
  };
  const std::string several =
      options.lists ? "; several, with commas: one plan per combination (one task)" : "";
  add("--devices", options.devices, "Number of devices, in place of the task file's" + several,
      "D");
  add("--memory-gb", options.memory_gb, "GiB of each device, in place of the task file's" + several,
      "G");
  group.add("--devices-per-node", "N", options.devices_per_node,
            "Devices that share a node, in place of the task file's (default: 8)");
  add_link_options(group, options.links);
  group
      .add("--link-levels", "DEVICES:GB/s,...", options.levels,
           "Blocks of devices beyond nodes, each with the bandwidth from a device to those of "
           "other blocks, in place of the task file's")
      ->delimiter(',');
  add_exchange_option(group, options.exchange);
  add_overlap_option(group, options.overlap);
  add_host_memory_option(group, options.host_memory);
  add_memory_options(command, options.memory);
}

LoadedTasks load_tasks(const TaskOptions& options, const std::string& hardware) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  require_ranges(options);
  LoadedTasks loaded;
  loaded.hardware = hardware_of_option(hardware);
  loaded.batch_is_option = options.memory.batch_size.has_value();
  std::size_t derived = 0;
  std::uint64_t doubtful = 0;
  std::string first_doubt;
  const int first = options.index ? static_cast<int>(*options.index) : 0;
  bool any_valid = false;
  for (auto& [file, line_error] : load_files(options)) {
    if (loaded.hardware) file.hardware = loaded.hardware;
    std::optional<Error> error = line_error;
    Task task;
    try {
      if (!error) task = complete_task(file, options);
    } catch (const Error& incomplete) {
      error = incomplete;
    }
    any_valid = any_valid || !error;
    if (!error && task.links) loaded.notes.push_back(links_note(task));
    if (!error && task.memory_bytes > kMostUsualMemory) {
      loaded.notes.push_back("devices have " + format_bytes(task.memory_bytes) +
                             ": memory_gb counts GiB");
    }
    if (const std::string stated = exchange_text(task.exchange); !error && !stated.empty()) {
      loaded.notes.push_back("exchange: " + stated + "; what is not stated is fp32 or int64");
    }
    if (const std::string stated = overlap_text(task.overlap); !error && !stated.empty()) {
      loaded.notes.push_back("overlap: " + stated);
    }
    if (const std::string stated = host_memory_text(task.host, task.device_list);
        !error && !stated.empty()) {
      const bool several = host_sizes(options.host_memory).size() > 1;
      loaded.notes.push_back((several ? "host memory, at most: " : "host memory: ") + stated);
    }
    loaded.tasks.push_back(std::move(task));
    loaded.errors.push_back(std::move(error));
    loaded.indices.push_back(first + static_cast<int>(loaded.indices.size()));
    loaded.where.push_back(file.where);
    loaded.titles.push_back(file.name.empty() ? file.where : file.name);
    if (file.hardware) loaded.hardware = file.hardware;
    derived += file.derived_histograms.size();
    if (const std::string doubt = doubtful_histograms_note(file.tables); !doubt.empty()) {
      if (doubtful++ == 0) first_doubt = doubt;
    }
    if (!file.notes.empty()) loaded.notes.push_back(file.notes);
  }
  // If not one line is valid, the options are probably wrong.
  if (!any_valid) throw Error(*loaded.errors.front());
  if (derived > 0) loaded.notes.push_back(derived_histograms_note(derived));
  if (doubtful > 1) first_doubt += "; the same holds in " + counted(doubtful - 1, "other task");
  if (doubtful > 0) loaded.notes.push_back(first_doubt);
  loaded.read_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return loaded;
}

const Task& only_task(const LoadedTasks& loaded, const std::string& command) {
  if (loaded.tasks.size() == 1) return loaded.tasks[0];
  throw Error(command + " takes one task, and there are " + std::to_string(loaded.tasks.size()) +
              "; pick one with --index");
}

}  // namespace neuroshard::tools
