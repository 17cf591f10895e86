#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "core/base/message_text.h"
#include "core/tables/devices_text.h"
#include "neuroshard/error.h"
#include "neuroshard/task.h"
#include "neuroshard/task_file.h"
#include "neuroshard/task_models.h"
#include "neuroshard/zipf_histogram.h"
#include "tools/python/bindings/bindings.h"
#include "tools/python/bindings/values.h"

namespace neuroshard::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

/// Memory of each device, or of all devices.
using MemoryBytes = std::variant<std::int64_t, std::vector<std::int64_t>>;

std::string task_text(const NamedTask& task) {
  return "Task(" + (task.name.empty() ? "" : printable(task.name) + ": ") +
         counted(task.task.tables.size(), "table") + " on " + devices_text(task.task) + ")";
}

/// How many, or all of them.
using Devices = std::variant<int, std::vector<Device>>;

/// Sets a number of devices, whose memory is given beside it.
void set_devices(Task& task, int devices, const std::optional<MemoryBytes>& memory_bytes) {
  if (!memory_bytes) throw Error("task: says nothing of memory; give memory_bytes=");
  task.devices = devices;
  if (const auto* of_each = std::get_if<std::vector<std::int64_t>>(&*memory_bytes)) {
    if (of_each->empty()) throw Error("task: memory_bytes is an empty list; give one a device");
    for (const std::int64_t bytes : *of_each) task.device_list.push_back({.memory_bytes = bytes});
  } else {
    task.memory_bytes = std::get<std::int64_t>(*memory_bytes);
  }
}

void set_devices(Task& task, std::vector<Device> devices,
                 const std::optional<MemoryBytes>& memory_bytes) {
  if (devices.empty()) throw Error("task: devices is an empty list; give at least one");
  if (memory_bytes) {
    throw Error("task: devices that are listed have memory of their own; leave memory_bytes out");
  }
  task.devices = static_cast<int>(devices.size());
  task.device_list = std::move(devices);
}

NamedTask make_task(std::vector<Table> tables, Devices devices,
                    const std::optional<MemoryBytes>& memory_bytes, std::string name,
                    std::vector<std::string> notes, std::int64_t reserved_bytes,
                    double reserved_share, std::optional<std::int64_t> batch_size,
                    bool count_buffers, int devices_per_node, std::optional<NodeLinks> links,
                    const ExchangeTypes& exchange, const Overlap& overlap, const HostMemory& host,
                    std::vector<TableGroup> groups) {
  if (batch_size && count_buffers) {
    for (Table& table : tables) table.memory.batch_size = *batch_size;
  }
  NamedTask task{{.tables = std::move(tables),
                  .reserved = {.bytes = reserved_bytes, .share = reserved_share},
                  .batch_size = batch_size.value_or(kDefaultBatchSize),
                  .devices_per_node = devices_per_node,
                  .links = std::move(links),
                  .exchange = exchange,
                  .overlap = overlap,
                  .host = host,
                  .groups = std::move(groups)},
                 std::move(name),
                 std::move(notes)};
  std::visit([&](auto& given) { set_devices(task.task, std::move(given), memory_bytes); }, devices);
  validate(task.task, "task");
  return task;
}

std::shared_ptr<NamedTask> complete_task(TaskFile file, std::optional<int> devices,
                                         std::optional<std::int64_t> memory_bytes) {
  Task task = task_of(file, {.devices = devices,
                             .memory_bytes = memory_bytes,
                             .devices_remedy = "give devices=",
                             .memory_remedy = "give memory_bytes="});
  std::vector<std::string> notes;
  if (!file.notes.empty()) notes.push_back(std::move(file.notes));
  if (file.hardware) notes.push_back(hardware_note(*file.hardware));
  if (!file.derived_histograms.empty()) {
    notes.push_back(derived_histograms_note(file.derived_histograms.size()));
  }
  if (std::string doubt = doubtful_histograms_note(task.tables); !doubt.empty()) {
    notes.push_back(std::move(doubt));
  }
  validate(task, file.where);
  return std::make_shared<NamedTask>(
      NamedTask{std::move(task), std::move(file.name), std::move(notes)});
}

std::string device_text(const Device& device) {
  std::string text = "Device(" + format_bytes(device.memory_bytes);
  if (device.speed != 1.0) text += ", speed " + format_number(device.speed, 2);
  if (device.base_ms > 0.0) text += ", base " + format_number(device.base_ms, 2) + " ms";
  if (device.base_bytes > 0) text += ", base " + format_bytes(device.base_bytes);
  if (device.host_bytes > 0) text += ", host " + format_bytes(device.host_bytes);
  if (device.host_link_gb_s > 0.0) text += " at " + shortest_text(device.host_link_gb_s) + " GB/s";
  if (device.ssd_bytes > 0) text += ", SSD " + format_bytes(device.ssd_bytes);
  if (device.ssd_gb_s > 0.0) text += " at " + shortest_text(device.ssd_gb_s) + " GB/s";
  return text + ")";
}

void bind_device(nb::module_& module) {
  nb::class_<Device>(module, "Device", "A device of a task whose devices differ.")
      .def(
          "__init__",
          [](Device* self, std::int64_t memory_bytes, double speed, double base_ms,
             std::int64_t base_bytes, std::int64_t host_bytes, double host_link_gb_s,
             std::int64_t ssd_bytes, double ssd_gb_s) {
            new (self) Device{.memory_bytes = memory_bytes,
                              .base_ms = base_ms,
                              .base_bytes = base_bytes,
                              .speed = speed,
                              .host_bytes = host_bytes,
                              .host_link_gb_s = host_link_gb_s,
                              .ssd_bytes = ssd_bytes,
                              .ssd_gb_s = ssd_gb_s};
          },
          "memory_bytes"_a, nb::kw_only(), "speed"_a = 1.0, "base_ms"_a = 0.0, "base_bytes"_a = 0,
          "host_bytes"_a = 0, "host_link_gb_s"_a = 0.0, "ssd_bytes"_a = 0, "ssd_gb_s"_a = 0.0,
          "`speed`, 0.01 to 100: its tables compute in 1 / `speed` of what the cost models "
          "predict. `base_ms` and `base_bytes`: compute in each iteration and memory that are "
          "there already, such as the dense part of the model. `host_bytes` to `ssd_gb_s`: in "
          "place of those that HostMemory gives all devices; 0: as it says. Tasks check them.")
      .def_ro("memory_bytes", &Device::memory_bytes)
      .def_ro("speed", &Device::speed)
      .def_ro("base_ms", &Device::base_ms)
      .def_ro("base_bytes", &Device::base_bytes)
      .def_ro("host_bytes", &Device::host_bytes)
      .def_ro("host_link_gb_s", &Device::host_link_gb_s)
      .def_ro("ssd_bytes", &Device::ssd_bytes)
      .def_ro("ssd_gb_s", &Device::ssd_gb_s)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__", &device_text);
}

std::string links_text(const NodeLinks& links) {
  std::string text;
  const auto add = [&](const char* name, double gb_s) {
    if (gb_s == 0.0) return;
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + format_number(gb_s, 1) + " GB/s";
  };
  add("in node", links.in_node_gb_s);
  add("between nodes", links.between_nodes_gb_s);
  add("node", links.node_gb_s);
  add("peer", links.peer_gb_s);
  add("host", links.host_gb_s);
  for (const LinkLevel& level : links.levels) {
    add(("beyond " + std::to_string(level.devices) + " devices").c_str(), level.gb_s);
  }
  return "NodeLinks(" + text + ")";
}

void bind_links(nb::module_& module) {
  nb::class_<NodeLinks>(module, "NodeLinks", "Links between devices, and between nodes of devices.")
      .def(
          "__init__",
          [](NodeLinks* self, double in_node_gb_s, double between_nodes_gb_s, double node_gb_s,
             double peer_gb_s, double host_gb_s,
             const std::vector<std::pair<int, double>>& levels) {
            new (self) NodeLinks{.in_node_gb_s = in_node_gb_s,
                                 .between_nodes_gb_s = between_nodes_gb_s,
                                 .node_gb_s = node_gb_s,
                                 .peer_gb_s = peer_gb_s,
                                 .host_gb_s = host_gb_s};
            for (const auto& [devices, gb_s] : levels) self->levels.push_back({devices, gb_s});
          },
          nb::kw_only(), "in_node_gb_s"_a = 0.0, "between_nodes_gb_s"_a = 0.0, "node_gb_s"_a = 0.0,
          "peer_gb_s"_a = 0.0, "host_gb_s"_a = 0.0,
          "levels"_a = std::vector<std::pair<int, double>>(),
          "GB/s (1e9 bytes) in each direction: of a device to the others of its node, of a device "
          "to those of other nodes, of all devices of a node together to those of other nodes, of "
          "a device to each other one of its node, and of all devices of a node together to each "
          "other, through their host. 0: as in the network of the cost models' hardware, or no "
          "limit. `levels`: larger blocks, each by its devices and the GB/s of a device to those "
          "of "
          "other blocks. Tasks check them.")
      .def_ro("in_node_gb_s", &NodeLinks::in_node_gb_s)
      .def_ro("between_nodes_gb_s", &NodeLinks::between_nodes_gb_s)
      .def_ro("node_gb_s", &NodeLinks::node_gb_s)
      .def_ro("peer_gb_s", &NodeLinks::peer_gb_s)
      .def_ro("host_gb_s", &NodeLinks::host_gb_s)
      .def_prop_ro("levels",
                   [](const NodeLinks& self) {
                     std::vector<std::pair<int, double>> levels;
                     for (const LinkLevel& level : self.levels) {
                       levels.emplace_back(level.devices, level.gb_s);
                     }
                     return levels;
                   })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__", &links_text);
}

void bind_task(nb::module_& module) {
  nb::class_<NamedTask>(module, "Task", "Tables to be placed on devices. Not changed once made.")
      .def(
          "__init__",
          [](NamedTask* self, std::vector<Table> tables, Devices devices,
             const std::optional<MemoryBytes>& memory_bytes, std::string name,
             std::vector<std::string> notes, std::int64_t reserved_bytes, double reserved_share,
             std::optional<std::int64_t> batch_size, bool count_buffers, int devices_per_node,
             std::optional<NodeLinks> links, const std::optional<ExchangeTypes>& exchange,
             const std::optional<Overlap>& overlap, const std::optional<HostMemory>& host_memory,
             std::vector<TableGroup> groups) {
            new (self) NamedTask(
                make_task(std::move(tables), std::move(devices), memory_bytes, std::move(name),
                          std::move(notes), reserved_bytes, reserved_share, batch_size,
                          count_buffers, devices_per_node, std::move(links),
                          exchange.value_or(ExchangeTypes{}), overlap.value_or(Overlap{}),
                          host_memory.value_or(HostMemory{}), std::move(groups)));
          },
          "tables"_a, "devices"_a, "memory_bytes"_a = nb::none(), nb::kw_only(), "name"_a = "",
          "notes"_a = std::vector<std::string>{}, "reserved_bytes"_a = 0, "reserved_share"_a = 0.0,
          "batch_size"_a = nb::none(), "count_buffers"_a = true,
          "devices_per_node"_a = kDefaultDevicesPerNode, "links"_a = nb::none(),
          "exchange"_a = nb::none(), "overlap"_a = nb::none(), "host_memory"_a = nb::none(),
          "groups"_a = std::vector<TableGroup>{},
          "`devices`: how many, or a list of all of them. `memory_bytes`: memory of each device, "
          "as one number or a list; not given if devices are listed, which have it. `notes`: "
          "assumptions, which pages and plans repeat. `reserved_bytes` and `reserved_share`, which "
          "add up: part of each device that tables may not take. `batch_size`: samples of an "
          "iteration, on all devices together. Costs are for this many, and their ids and pooled "
          "outputs take memory. None: costs are for 65,536, and memory counts none, or as tables "
          "of another task say. `count_buffers`: False: `batch_size` is for costs alone, and "
          "memory counts as with None. `devices_per_node`: devices that share a node, within which "
          "rows may be cut. `links`: what connects them; None: as in the network that the cost "
          "models know, where it does not matter which devices share a node. `exchange`: how "
          "values and ids are sent; None: as fp32 and int64. `overlap`: work that runs side by "
          "side; None: nothing does. `host_memory`: memory for rows that HBM has no room for; "
          "None: tables are in HBM alone. `groups`: tables that every plan keeps together or "
          "apart.")
      .def_prop_ro("tables", [](const NamedTask& task) { return task.task.tables; })
      .def_prop_ro("devices", [](const NamedTask& task) { return task.task.devices; })
      .def_prop_ro(
          "batch_size", [](const NamedTask& task) { return task.task.batch_size; },
          "Samples of an iteration, on all devices together, that costs are for.")
      .def_prop_ro("devices_per_node",
                   [](const NamedTask& task) { return task.task.devices_per_node; })
      .def_prop_ro("links", [](const NamedTask& task) { return task.task.links; })
      .def_prop_ro("exchange", [](const NamedTask& task) { return task.task.exchange; })
      .def_prop_ro("overlap", [](const NamedTask& task) { return task.task.overlap; })
      .def_prop_ro("host_memory",
                   [](const NamedTask& task) -> std::optional<HostMemory> {
                     if (task.task.host.bytes == 0) return std::nullopt;
                     return task.task.host;
                   })
      .def_prop_ro("groups", [](const NamedTask& task) { return task.task.groups; })
      .def_prop_ro(
          "device_list", [](const NamedTask& task) { return task.task.device_list; },
          "All devices if they were listed; empty: they are equal.")
      .def_prop_ro(
          "memory_bytes",
          [](const NamedTask& task) {
            std::int64_t most = 0;
            for (int device = 0; device < task.task.devices; ++device) {
              most = std::max(most, memory_bytes(task.task, static_cast<std::size_t>(device)));
            }
            return most;
          },
          "Memory of a device; if devices differ, of the largest.")
      .def_prop_ro(
          "reserved_bytes",
          [](const NamedTask& task) {
            std::vector<std::int64_t> reserved;
            for (int device = 0; device < task.task.devices; ++device) {
              reserved.push_back(reserved_bytes(task.task, static_cast<std::size_t>(device)));
            }
            return reserved;
          },
          "Reserved memory of each device.")
      .def_prop_ro(
          "room_bytes", [](const NamedTask& task) { return rooms_bytes(task.task); },
          "Memory of each device that tables may take: all of it less what is reserved and less "
          "what is there already, with host memory.")
      .def_ro("name", &NamedTask::name)
      .def_ro("notes", &NamedTask::notes)
      .def("__len__", [](const NamedTask& task) { return task.task.tables.size(); })
      .def("__repr__", &task_text);
}

}  // namespace

void bind_tasks(nb::module_& module) {
  module.attr("DEFAULT_BATCH_SIZE") = kDefaultBatchSize;
  module.attr("MAX_BATCH_SIZE") = kMaxBatchSize;
  module.attr("MIN_PRICED_BATCH") = kMinPricedBatch;
  module.attr("MAX_PRICED_BATCH") = kMaxPricedBatch;
  module.attr("LEAST_SPEED") = kLeastSpeed;
  module.attr("MOST_SPEED") = kMostSpeed;
  module.attr("LEAST_GB_PER_SECOND") = kLeastGbPerSecond;
  module.attr("MOST_GB_PER_SECOND") = kMostGbPerSecond;
  bind_device(module);
  bind_links(module);
  bind_tables(module);
  bind_task(module);
  module.def(
      "load_task",
      [](const std::filesystem::path& path, std::optional<int> devices,
         std::optional<std::int64_t> memory_bytes) {
        return complete_task(load_task(path), devices, memory_bytes);
      },
      "path"_a, nb::kw_only(), "devices"_a = nb::none(), "memory_bytes"_a = nb::none(),
      nb::sig("def load_task(path: str | os.PathLike[str], *, devices: int | None = None, "
              "memory_bytes: int | None = None) -> Task"),
      "A task file (docs/task_format.md). Arguments take the place of what the file says.");
  module.def(
      "parse_task",
      [](std::string_view json, std::optional<int> devices,
         std::optional<std::int64_t> memory_bytes) {
        return complete_task(parse_task(json, "task"), devices, memory_bytes);
      },
      "json"_a, nb::kw_only(), "devices"_a = nb::none(), "memory_bytes"_a = nb::none(),
      "A task from the text of such a file.");
  module.def("bytes_from_gib", &bytes_from_gib, "gib"_a, "Bytes in `gib` GiB, rounded down.");
  module.def(
      "zipf_histogram",
      [](std::int64_t rows, double pooling_factor, double exponent, std::int64_t batch_size) {
        return zipf_histogram(rows, pooling_factor, exponent, batch_size);
      },
      "rows"_a, "pooling_factor"_a, nb::kw_only(), "exponent"_a = kDefaultZipfExponent,
      "batch_size"_a = kDefaultBatchSize,
      "Expected access histogram of a table whose lookups follow Zipf's law.");
}

}  // namespace neuroshard::python
