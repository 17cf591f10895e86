#include "neuroshard/task_file.h"

#include <utility>

#include "core/message_text.h"
#include "neuroshard/error.h"
#include "weights/files/json_reader.h"
#include "weights/files/read_file.h"
#include "weights/files/table_reader.h"

namespace neuroshard {
namespace {

std::vector<std::string> read_source(const JsonObject& file) {
  if (file.value("source").is_string()) return {file.text("source")};
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

std::string table_label(JsonValue table, std::size_t index) {
  std::string label = "table " + std::to_string(index);
  if (std::string_view name; table["name"].get(name) == simdjson::SUCCESS) {
    label.append(" ('").append(name).append("')");
  }
  return label;
}

ReservedMemory read_reserved(const JsonObject& file) {
  ReservedMemory reserved;
  if (file.has("reserved_gb")) {
    constexpr double kMostGib = 8e9;
    const double gib = file.number("reserved_gb", 0.0, kMostGib);
    if (gib > 0.0) reserved.bytes = bytes_from_gib(gib);
  }
  if (file.has("reserved_share")) reserved.share = file.number("reserved_share", 0.0, 1.0);
  return reserved;
}

}  // namespace

TaskFile parse_task(std::string_view json, const std::string& where) {
  const JsonDocument document = parse_json(json, where);
  const JsonObject file(document.root(), where);
  check_format(file, "neuroshard.task", 1);
  TaskFile task;
  task.where = where;
  if (file.has("name")) task.name = file.text("name");
  if (file.has("source")) task.source = read_source(file);
  if (file.has("notes")) task.notes = file.text("notes");
  if (file.has("devices")) task.devices = file.small_integer("devices", 1, kMaxDevices);
  if (file.has("memory_gb")) {
    const double memory_gb = file.number("memory_gb");
    try {
      task.memory_bytes = bytes_from_gib(memory_gb);
    } catch (const Error& error) {
      throw Error(file.place("memory_gb") + ": " + error.what());
    }
  }
  task.reserved = read_reserved(file);
  TableMemory memory = read_table_memory(file, {});
  if (file.has("batch_size")) memory.batch_size = file.integer("batch_size", 1, kMaxBatchSize);
  TableReader reader(file.has("zipf_exponent") ? read_zipf_exponent(file) : kDefaultZipfExponent,
                     memory);
  const JsonArray tables = file.array("tables");
  task.tables.reserve(tables.size());
  JsonValue table;
  JsonObject object([&] { return where + ": " + table_label(table, task.tables.size()); });
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
  file.reject_unknown_fields();
  return task;
}

std::string derived_histograms_note(std::size_t tables) {
  return "the access histograms of " + counted(tables, "table") +
         " are not measured: they are computed from rows, pooling factor and a Zipf exponent";
}

TaskFile load_task(const std::filesystem::path& path) {
  return parse_task(read_file(path, kMaxJsonBytes), path.string());
}

}  // namespace neuroshard
