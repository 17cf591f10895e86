#include "weights/files/hardware_reader.h"

#include <string>

#include "core/base/message_text.h"
#include "core/tables/node_link_fields.h"
#include "neuroshard/error.h"
#include "neuroshard/task.h"

namespace neuroshard {
namespace {

Hardware hardware_by_name(std::string_view name, const std::string& place) {
  try {
    return hardware_named(name);
  } catch (const Error& error) {
    throw Error(place + ": " + error.what());
  }
}

Hardware read_datasheet(const JsonObject& object) {
  const std::string name = object.has("name") ? object.text("name") : std::string(kUnnamedHardware);
  const double memory_gb_s =
      object.number("memory_gb_s", kLeastMemoryGbPerSecond, kMostMemoryGbPerSecond);
  const double l2_mib = object.number("l2_mib", kLeastL2Mib, kMostL2Mib);
  const int multiprocessors = object.small_integer("multiprocessors", 1, kMostMultiprocessors);
  const double clock_ghz = object.number("clock_ghz", kLeastClockGhz, kMostClockGhz);
  NodeNetwork nodes{.devices_per_node =
                        object.has("devices_per_node")
                            ? object.small_integer("devices_per_node", 1, kMaxDevices)
                            : kDefaultDevicesPerNode};
  for (const NodeLinkField& field : kNodeLinkFields) {
    if (may_be_left_out(field) && !object.has(field.name)) continue;
    nodes.links.*field.gb_s = object.number(field.name, kLeastGbPerSecond, kMostGbPerSecond);
  }
  object.reject_unknown_fields();
  return stated_hardware(name, memory_gb_s, l2_mib, multiprocessors, clock_ghz, nodes,
                         object.where());
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
