#include "neuroshard/task_file.h"

#include <utility>

#include "neuroshard/error.h"
#include "search/files/table_reader.h"
#include "weights/json_reader.h"
#include "weights/read_file.h"

namespace neuroshard {
namespace {

std::vector<std::string> read_source(const JsonObject& file) {
  const auto& value = file.value("source");
  if (value.is_string()) return {file.text("source")};
  std::vector<std::string> source;
  for (const auto& item : file.array("source")) {
    if (!item.is_string()) throw Error(file.place("source") + ": give texts in quotes");
    source.push_back(item.get<std::string>());
  }
  return source;
}

std::string table_label(const nlohmann::json& table, std::size_t index) {
  std::string label = "table " + std::to_string(index);
  if (table.is_object() && table.contains("name") && table["name"].is_string()) {
    label += " ('" + table["name"].get<std::string>() + "')";
  }
  return label;
}

}  // namespace

TaskFile parse_task(std::string_view json, const std::string& where) {
  const nlohmann::json root = parse_json(json, where);
  const JsonObject file(root, where);
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
  TableReader reader(file.has("zipf_exponent") ? read_zipf_exponent(file) : kDefaultZipfExponent);
  const auto& tables = file.array("tables");
  if (tables.empty()) throw Error(file.place("tables") + ": is empty; give at least one table");
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const JsonObject object(tables[i], where + ": " + table_label(tables[i], i));
    TableReader::Result result = reader.read(object, TableReader::Dim::kRequired);
    task.tables.push_back(std::move(result.table));
    if (result.derived_histogram) task.derived_histograms.push_back(static_cast<int>(i));
  }
  file.reject_unknown_fields();
  return task;
}

TaskFile load_task(const std::filesystem::path& path) {
  return parse_task(read_file(path), path.string());
}

}  // namespace neuroshard
