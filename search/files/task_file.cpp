#include "neuroshard/task_file.h"

#include <functional>
#include <map>
#include <utility>

#include "core/base/message_text.h"
#include "core/tables/exchange_fields.h"
#include "core/tables/host_memory_fields.h"
#include "core/tables/node_link_fields.h"
#include "core/tables/overlap_fields.h"
#include "core/tables/reserved_problem.h"
#include "neuroshard/task_models.h"
#include "weights/files/hardware_reader.h"
#include "weights/files/json_reader.h"
#include "weights/files/read_file.h"
#include "weights/files/table_reader.h"

namespace neuroshard {
namespace {

constexpr double kMostGib = 8e9;  // Limit where 0 is allowed, unlike in bytes_from_gib().

std::vector<std::string> read_source(const JsonObject& file) {
  if (file.value("source").is_string()) return {file.text("source")};
  if (!file.value("source").is_array()) {
    throw Error(file.stated("source") + "; give a text in quotes, or an array of texts");
  }
  std::vector<std::string> source;
  for (const JsonValue item : file.array("source")) {
    std::string_view text;
    if (item.get(text) != simdjson::SUCCESS) {
      throw Error(file.place("source") + ": give texts in quotes");
    }
    source.emplace_back(text);
  }
  return source;
}

/// "table 3 ('user')", as far as that is told before it is read.
std::string label_in_file(const char* what, JsonValue value, std::size_t index) {
  std::string label = what + (" " + std::to_string(index));
  if (std::string_view name; value["name"].get(name) == simdjson::SUCCESS) {
    label.append(" ('").append(name).append("')");
  }
  return label;
}

/// Bytes of a field in GiB, which may be 0.
std::int64_t read_bytes(const JsonObject& object, const char* field) {
  const double gib = object.number(field, 0.0, kMostGib);
  return gib > 0.0 ? bytes_from_gib(gib) : 0;
}

ReservedMemory read_reserved(const JsonObject& file) {
  ReservedMemory reserved;
  if (file.has("reserved_gb")) reserved.bytes = read_bytes(file, "reserved_gb");
  if (file.has("reserved_share")) {
    reserved.share = file.number("reserved_share");
    if (const std::optional<std::string> problem = reserved_share_problem_of(reserved.share)) {
      throw Error(file.place("reserved_share") + *problem);
    }
  }
  return reserved;
}

std::int64_t read_memory(const JsonObject& object) {
  const double memory_gb = object.number("memory_gb");
  const std::int64_t bytes = object.read_at("memory_gb", [&] { return bytes_from_gib(memory_gb); });
  if (bytes > 0) return bytes;
  throw Error(object.place("memory_gb") + " is " + shortest_text(memory_gb) +
              ", less than a byte; give the GiB of a device, e.g. 4");
}

std::int64_t read_batch_size(const JsonObject& file) {
  try {
    return file.integer("batch_size", 1, kMaxBatchSize);
  } catch (const Error&) {
    // Fewer than could be read can be priced.
    throw Error(file.stated("batch_size") +
                "; give the samples of an iteration; costs can be predicted for " +
                format_count(kMinPricedBatch) + " to " + format_count(kMaxPricedBatch));
  }
}

/// Reads what a class or an entry of the list says of devices; the rest is as in `device`.
Device read_device(const JsonObject& object, Device device) {
  if (object.has("memory_gb")) device.memory_bytes = read_memory(object);
  if (object.has("base_ms")) device.base_ms = object.number("base_ms", 0.0, kMostBaseMs);
  if (object.has("base_gb")) device.base_bytes = read_bytes(object, "base_gb");
  if (object.has("speed")) device.speed = object.number("speed", kLeastSpeed, kMostSpeed);
  const auto read_some_bytes = [&](const char* field, std::int64_t& bytes) {
    const std::optional<double> gib = object.number_if_any(field, 0.0, kMostGib);
    if (gib) bytes = object.read_at(field, [&] { return bytes_from_gib(*gib); });
  };
  const auto read_rate = [&](const char* field, double& gb_s) {
    gb_s = object.number_if_any(field, kLeastGbPerSecond, kMostGbPerSecond).value_or(gb_s);
  };
  read_some_bytes(kDeviceHostGbField, device.host_bytes);
  read_rate(kDeviceHostLinkField, device.host_link_gb_s);
  read_some_bytes(kSsdGbField, device.ssd_bytes);
  read_rate(kSsdRateField, device.ssd_gb_s);
  return device;
}

NodeLinks read_links(const JsonObject& object) {
  NodeLinks links;
  for (const auto& [name, gb_s] : kNodeLinkFields) {
    links.*gb_s = object.number_if_any(name, kLeastGbPerSecond, kMostGbPerSecond).value_or(0.0);
  }
  if (object.has("levels")) {
    for (const JsonValue item : object.array("levels")) {
      const JsonObject level(
          item, object.place("levels") + ": level " + std::to_string(links.levels.size()));
      links.levels.push_back({level.small_integer("devices", 1, kMaxDevices),
                              level.number("gb_s", kLeastGbPerSecond, kMostGbPerSecond)});
      level.reject_unknown_fields();
    }
  }
  object.reject_unknown_fields();
  return links;
}

ExchangeTypes read_exchange(const JsonObject& object) {
  ExchangeTypes exchange;
  for (const WireTypeField& field : kWireTypeFields) {
    object.read_named(field.name, exchange.*field.type,
                      [&](const std::string& name) { return wire_type_from_name(field, name); });
  }
  for (const auto& [name, share] : kSentShareFields) {
    exchange.*share = object.number_if_any(name, kLeastSentShare, 1.0).value_or(1.0);
  }
  for (const auto& [name, flag] : kExchangeFlagFields) {
    exchange.*flag = object.flag_if_any(name);
  }
  object.reject_unknown_fields();
  return exchange;
}

Overlap read_overlap(const JsonObject& object) {
  Overlap overlap;
  overlap.ids = object.flag_if_any(kOverlapIdsField);
  for (const auto& [name, ms] : kOverlapTimeFields) {
    overlap.*ms = object.number_if_any(name, 0.0, kMostOverlapMs).value_or(0.0);
  }
  object.reject_unknown_fields();
  return overlap;
}

HostMemory read_host_memory(const JsonObject& object) {
  HostMemory host;
  host.of_node = object.has(kHostNodeGbField);
  if (host.of_node && object.has(kHostGbField)) {
    throw Error(object.place(kHostGbField) + " stands beside " + kHostNodeGbField +
                "; give the GiB for each device or for each node");
  }
  host.bytes = read_bytes(object, host.of_node ? kHostNodeGbField : kHostGbField);
  host.link_gb_s = object.number(kHostLinkField, kLeastGbPerSecond, kMostGbPerSecond);
  object.read_named(kHostPolicyField, host.policy, host_policy_from_name);
  host.prefetch = object.flag_if_any(kHostPrefetchField);
  if (object.has(kSsdGbField) || object.has(kSsdRateField)) {
    host.ssd_bytes = read_bytes(object, kSsdGbField);
    host.ssd_gb_s = object.number(kSsdRateField, kLeastGbPerSecond, kMostGbPerSecond);
  }
  object.reject_unknown_fields();
  return host;
}

using DeviceClasses = std::map<std::string, Device, std::less<>>;

/// `unlike`: a device of no class.
DeviceClasses read_classes(const JsonObject& file, const Device& unlike) {
  DeviceClasses classes;
  if (!file.has("classes")) return classes;
  const JsonObject list = file.object("classes");
  for (const std::string_view name : list.names()) {
    const JsonObject object = list.object(name);
    classes.emplace(name, read_device(object, unlike));
    object.reject_unknown_fields();
  }
  return classes;
}

const Device& class_of(const JsonObject& entry, const DeviceClasses& classes) {
  const std::string name = entry.text("class");
  const auto found = classes.find(name);
  if (found != classes.end()) return found->second;
  const std::string known = joined(classes, ", ", &DeviceClasses::value_type::first);
  throw Error(entry.place("class") + ": there is no class '" + printable(name) + "'; " +
              (known.empty() ? "describe it under classes" : "use one of " + printable(known)));
}

/// `unlike`: a device of which nothing is said.
std::vector<Device> read_devices(const JsonObject& file, JsonArray list,
                                 const DeviceClasses& classes, const Device& unlike) {
  std::vector<Device> devices;
  std::size_t entry = 0;
  for (const JsonValue item : list) {
    const JsonObject object(item, file.place("devices") + ": entry " + std::to_string(entry++));
    const int count = object.has("count") ? object.small_integer("count", 1, kMaxDevices) : 1;
    const Device device =
        read_device(object, object.has("class") ? class_of(object, classes) : unlike);
    if (device.memory_bytes == 0) {
      throw Error(object.where() +
                  ": says nothing of memory; give memory_gb here, or once for all devices");
    }
    if (device.base_bytes > device.memory_bytes) {
      throw Error(object.place("base_gb") + " is more than the memory of the device, " +
                  format_bytes(device.memory_bytes) +
                  "; give what is really there, or the device more memory_gb");
    }
    object.reject_unknown_fields();
    if (devices.size() + static_cast<std::size_t>(count) > kMaxDevices) {
      throw Error(file.place("devices") + ": lists more than " + std::to_string(kMaxDevices) +
                  " devices; give fewer");
    }
    devices.insert(devices.end(), static_cast<std::size_t>(count), device);
  }
  if (devices.empty()) throw Error(file.place("devices") + ": is empty; give at least one");
  return devices;
}

/// Tables by name or by number.
class TableNumbers {
 public:
  explicit TableNumbers(const std::vector<Table>& tables) : tables_(tables.size()) {
    for (std::size_t t = 0; t < tables.size(); ++t) {
      if (tables[t].name.empty()) continue;
      const auto [known, is_new] = by_name_.try_emplace(tables[t].name, static_cast<int>(t));
      if (!is_new) known->second = kSeveral;
    }
  }

  /// `place`: of the list, for messages.
  [[nodiscard]] int of(JsonValue table, const std::string& place) const {
    std::string_view name;
    if (table.get(name) != simdjson::SUCCESS) {
      return static_cast<int>(
          json_integer(table, place, 0, static_cast<std::int64_t>(tables_) - 1));
    }
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) {
      throw Error(place + ": there is no table '" + printable(name) +
                  "'; give the name of a table, or its number from 0 on");
    }
    if (found->second == kSeveral) {
      throw Error(place + ": several tables are called '" + printable(name) +
                  "'; give numbers from 0 on, or tables names of their own");
    }
    return found->second;
  }

 private:
  static constexpr int kSeveral = -1;
  std::size_t tables_;
  std::map<std::string_view, int> by_name_;
};

std::vector<TableGroup> read_groups(const JsonObject& file, const std::vector<Table>& tables) {
  const TableNumbers numbers(tables);
  std::vector<TableGroup> groups;
  for (const JsonValue item : file.array("groups")) {
    const JsonObject object(
        item, file.place("groups") + ": " + label_in_file("group", item, groups.size()));
    TableGroup& group = groups.emplace_back();
    if (object.has("name")) group.name = object.text("name");
    const std::string keep = object.text("keep");
    group.keep = object.read_at("keep", [&] { return keep_from_name(keep); });
    for (const JsonValue table : object.array("tables")) {
      group.tables.push_back(numbers.of(table, object.place("tables")));
    }
    object.reject_unknown_fields();
  }
  return groups;
}

}  // namespace

int devices_per_node_of(const TaskFile& file) {
  return file.devices_per_node.value_or(file.hardware ? file.hardware->network.gpus_per_node
                                                      : kDefaultDevicesPerNode);
}

Task stated_task(TaskFile file) {
  return {.tables = std::move(file.tables),
          .devices = file.devices.value_or(0),
          .memory_bytes = file.memory_bytes.value_or(0),
          .reserved = file.reserved,
          .batch_size = file.batch_size,
          .device_list = std::move(file.device_list),
          .devices_per_node = devices_per_node_of(file),
          .links = file.links,
          .exchange = file.exchange,
          .overlap = file.overlap,
          .host = file.host,
          .groups = std::move(file.groups)};
}

Task task_of(const TaskFile& file, const OtherDevices& other) {
  Task task = stated_task(file);
  if (!other.devices && !file.devices) {
    throw Error(file.where + ": says nothing of devices; " + std::string(other.devices_remedy));
  }
  if (other.devices) {
    task.devices = *other.devices;
    task.device_list.clear();
  }
  if (task.device_list.empty() && !other.memory_bytes && !file.memory_bytes) {
    throw Error(file.where + ": says nothing of the memory of " +
                (file.device_list.empty() ? "devices; " : "so many equal devices; ") +
                std::string(other.memory_remedy));
  }
  if (other.memory_bytes) set_memory(task, *other.memory_bytes);
  return task;
}

TaskFile parse_task(std::string_view json, const std::string& where) {
  const JsonDocument document = parse_json(json, where);
  const JsonObject file(document.root(), where);
  check_format(file, "neuroshard.task", 1);
  TaskFile task;
  task.where = where;
  if (file.has("name")) task.name = file.text("name");
  if (file.has("source")) task.source = read_source(file);
  if (file.has("notes")) task.notes = file.text("notes");
  if (file.has("hardware")) task.hardware = read_hardware(file);
  if (file.has("memory_gb")) task.memory_bytes = read_memory(file);
  const Device unlike{.memory_bytes = task.memory_bytes.value_or(0)};
  const DeviceClasses classes = read_classes(file, unlike);
  if (file.has("devices")) {
    if (JsonArray list; file.value("devices").get(list) == simdjson::SUCCESS) {
      task.device_list = read_devices(file, list, classes, unlike);
      task.devices = static_cast<int>(task.device_list.size());
    } else {
      task.devices = file.small_integer("devices", 1, kMaxDevices);
    }
  }
  if (file.has("devices_per_node")) {
    task.devices_per_node = file.small_integer("devices_per_node", 1, kMaxDevices);
  }
  if (file.has("links")) task.links = read_links(file.object("links"));
  if (file.has("exchange")) task.exchange = read_exchange(file.object("exchange"));
  if (file.has("overlap")) task.overlap = read_overlap(file.object("overlap"));
  if (file.has("host_memory")) task.host = read_host_memory(file.object("host_memory"));
  task.reserved = read_reserved(file);
  TableMemory memory = read_table_memory(file, {});
  if (file.has("batch_size")) {
    task.batch_size = read_batch_size(file);
    memory.batch_size = task.batch_size;
  }
  TableReader reader(file.has("zipf_exponent") ? read_zipf_exponent(file) : kDefaultZipfExponent,
                     memory);
  const JsonArray tables = file.array("tables");
  task.tables.reserve(tables.size());
  JsonValue table;
  JsonObject object(
      [&] { return where + ": " + label_in_file("table", table, task.tables.size()); });
  for (const JsonValue item : tables) {
    table = item;
    object.reset(table);
    TableReader::Result result = reader.read(object, TableReader::Dim::kRequired);
    if (result.derived_histogram) {
      task.derived_histograms.push_back(static_cast<int>(task.tables.size()));
    }
    task.tables.push_back(std::move(result.table));
  }
  if (task.tables.empty()) {
    throw Error(file.place("tables") + ": is empty; give at least one table");
  }
  if (file.has("groups")) task.groups = read_groups(file, task.tables);
  file.reject_unknown_fields();
  return task;
}

std::string derived_histograms_note(std::size_t tables) {
  return "the access histograms of " + counted(tables, "table") +
         " are not measured: they are computed from rows, pooling factor and a Zipf exponent";
}

std::string hardware_note(const Hardware& hardware) {
  return "the task is for " + printable(hardware.name) +
         ": costs are of the weights that it is planned with";
}

TaskFile load_task(const std::filesystem::path& path) {
  return parse_task(read_file(path, kMaxJsonBytes), path.string());
}

}  // namespace neuroshard
