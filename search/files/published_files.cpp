#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/number_in.h"
#include "neuroshard/error.h"
#include "neuroshard/task_file.h"
#include "weights/files/json_reader.h"
#include "weights/files/read_file.h"

namespace neuroshard {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find_first_of(separators);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// The columns of a line, however many blanks are between them.
std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns = split(line, kBlank);
  std::erase_if(columns, [](std::string_view column) { return column.empty(); });
  return columns;
}

/// "3,1,4" as numbers. `what` says what each of them is.
std::vector<int> parse_integers(std::string_view list, const char* what, const std::string& where) {
  std::vector<int> numbers;
  for (const std::string_view part : split(list, ",")) {
    const std::optional<int> number = number_in<int>(part);
    if (!number) {
      throw Error(where + ": " + what + " " + std::to_string(numbers.size()) + " is '" +
                  std::string(part.substr(0, 40)) + "'; give an integer");
    }
    numbers.push_back(*number);
  }
  return numbers;
}

/// Dims are those of `dims`, or, if it is empty, those of the list.
TaskFile task_of_ids(const std::vector<int>& ids, const std::vector<int>& dims,
                     const std::string& where, const TableConfigs& configs) {
  TaskFile task;
  task.where = where;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || static_cast<std::size_t>(ids[i]) >= configs.tables.size()) {
      throw Error(where + ": id " + std::to_string(i) + " is " + std::to_string(ids[i]) +
                  "; the list of tables has 0 to " + std::to_string(configs.tables.size() - 1));
    }
    Table table = configs.tables[static_cast<std::size_t>(ids[i])];
    table.name = "id " + std::to_string(ids[i]);
    if (!dims.empty()) table.dim = dims[i];
    if (table.dim == 0 && dims.empty()) {
      throw Error(where + ": id " + std::to_string(i) + " is " + std::to_string(ids[i]) +
                  ", a table without a dim; give each table of the list one, or the task's line "
                  "dims: 'id,id,... dim,dim,...'");
    }
    validate(table, where + ": table " + std::to_string(i) + " (" + table.name + ")");
    if (std::binary_search(configs.derived_histograms.begin(), configs.derived_histograms.end(),
                           ids[i])) {
      task.derived_histograms.push_back(static_cast<int>(i));
    }
    task.tables.push_back(std::move(table));
  }
  return task;
}

TaskFile parse_task_line(const std::vector<std::string_view>& columns, const std::string& where,
                         const TableConfigs& configs) {
  if (columns.size() > 2) {
    throw Error(where + ": has " + std::to_string(columns.size()) +
                " columns; expected 'id,id,... dim,dim,...', or ids alone");
  }
  const std::vector<int> ids = parse_integers(columns[0], "id", where);
  std::vector<int> dims;
  if (columns.size() == 2) {
    dims = parse_integers(columns[1], "dim", where);
    if (ids.size() != dims.size()) {
      throw Error(where + ": has " + std::to_string(ids.size()) + " ids, but " +
                  std::to_string(dims.size()) + " dims; give one dim for each id");
    }
  }
  return task_of_ids(ids, dims, where, configs);
}

/// `read` makes the task, or throws what is wrong with it.
template <typename Read>
void add_task(std::vector<TaskLine>& lines, const std::string& place, const Read& read) {
  TaskLine& line = lines.emplace_back();
  try {
    line.task = read();
  } catch (const Error& error) {
    line.task.where = place;
    line.error = error;
  }
}

/// AutoShard's file: tasks to train on, then those to test with.
std::vector<TaskLine> parse_json_tasks(std::string_view text, const std::string& where,
                                       const TableConfigs& configs) {
  const JsonDocument document = parse_json(text, where);
  const JsonObject file(document.root(), where);
  std::vector<TaskLine> lines;
  for (const char* name : {"train", "test"}) {
    if (!file.has(name)) continue;
    std::size_t number = 0;
    for (const JsonValue task : file.array(name)) {
      const std::string place = file.place(name) + ": task " + std::to_string(number++);
      add_task(lines, place, [&] {
        JsonArray list;
        if (task.get(list) != simdjson::SUCCESS || list.size() == 0) {
          throw Error(place + ": is no list of ids; give [id, id, ...]");
        }
        std::vector<int> ids;
        for (const JsonValue id : list) {
          ids.push_back(
              static_cast<int>(json_integer(id, place + ": id " + std::to_string(ids.size()), 0,
                                            static_cast<std::int64_t>(configs.tables.size()) - 1)));
        }
        return task_of_ids(ids, {}, place, configs);
      });
    }
  }
  file.reject_unknown_fields();
  if (lines.empty()) {
    throw Error(where + ": has no tasks; give {\"train\": [[id, ...], ...], \"test\": ...}");
  }
  return lines;
}

}  // namespace

std::vector<TaskLine> parse_each_task_line(std::string_view text, const std::string& where,
                                           const TableConfigs& configs) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    return parse_json_tasks(text, where, configs);
  }
  std::vector<TaskLine> lines;
  int line_number = 0;
  for (const std::string_view line : split(text, "\n")) {
    ++line_number;
    const std::vector<std::string_view> columns = columns_of(line);
    if (columns.empty()) continue;
    const std::string place = where + ": line " + std::to_string(line_number);
    add_task(lines, place, [&] { return parse_task_line(columns, place, configs); });
  }
  if (lines.empty()) {
    throw Error(where + ": has no tasks; give lines 'id,id,... dim,dim,...', or ids alone");
  }
  return lines;
}

std::vector<TaskLine> load_each_task_line(const std::filesystem::path& path,
                                          const TableConfigs& configs) {
  return parse_each_task_line(read_file(path), path.string(), configs);
}

std::vector<TaskFile> parse_task_lines(std::string_view text, const std::string& where,
                                       const TableConfigs& configs) {
  std::vector<TaskFile> tasks;
  for (TaskLine& line : parse_each_task_line(text, where, configs)) {
    if (line.error) throw Error(*line.error);
    tasks.push_back(std::move(line.task));
  }
  return tasks;
}

std::vector<TaskFile> load_task_lines(const std::filesystem::path& path,
                                      const TableConfigs& configs) {
  return parse_task_lines(read_file(path), path.string(), configs);
}

}  // namespace neuroshard
