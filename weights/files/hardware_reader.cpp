#include "weights/files/hardware_reader.h"

#include "core/base/message_text.h"
#include "core/tables/node_link_fields.h"
#include "neuroshard/error.h"
#include "neuroshard/task.h"

namespace neuroshard {
namespace {

constexpr double kBytesOfMib = 1048576.0;
constexpr const char* kHardwareWithoutName = "datasheet";

Hardware hardware_by_name(std::string_view name, const std::string& place) {
  try {
    return hardware_named(name);
  } catch (const Error& error) {
    throw Error(place + ": " + error.what());
  }
}

Hardware read_datasheet(const JsonObject& object) {
  Hardware hardware;
  hardware.name = object.has("name") ? object.text("name") : kHardwareWithoutName;
  GpuSpec& gpu = hardware.gpu;
  gpu.name = hardware.name;
  gpu.hbm_gb_per_s = object.number("memory_gb_s", kLeastMemoryGbPerSecond, kMostMemoryGbPerSecond);
  gpu.l2_bytes = kBytesOfMib * object.number("l2_mib", kLeastL2Mib, kMostL2Mib);
  gpu.l2_gb_per_s = object.number_if_any("l2_gb_s", kLeastMemoryGbPerSecond, kMostMemoryGbPerSecond)
                        .value_or(kL2OfMemoryRate * gpu.hbm_gb_per_s);
  NetworkSpec& network = hardware.network;
  network.name = "links of " + hardware.name;
  network.gpus_per_node = object.has("devices_per_node")
                              ? object.small_integer("devices_per_node", 1, kMaxDevices)
                              : kDefaultDevicesPerNode;
  for (const NodeLinkField& field : kNodeLinkFields) {
    const bool may_be_left_out =
        field.gb_s != &NodeLinks::in_node_gb_s && field.gb_s != &NodeLinks::between_nodes_gb_s;
    if (may_be_left_out && !object.has(field.name)) continue;
    network.links.*field.gb_s = object.number(field.name, kLeastGbPerSecond, kMostGbPerSecond);
  }
  object.reject_unknown_fields();
  validate(hardware, object.where());
  return hardware;
}

}  // namespace

Hardware read_hardware(const JsonObject& holder) {
  const JsonValue value = holder.value("hardware");
  if (value.is_object()) return read_datasheet(holder.object("hardware"));
  if (value.is_string()) {
    return hardware_by_name(holder.text("hardware"), holder.place("hardware"));
  }
  throw Error(holder.stated("hardware") + "; give one of " + known_hardware_names() +
              ", or an object that states a datasheet");
}

Hardware parse_hardware(std::string_view text, const std::string& where) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return hardware_by_name(text, where);
  const JsonDocument document = parse_json(text, where);
  return read_datasheet(JsonObject(document.root(), where));
}

}  // namespace neuroshard
