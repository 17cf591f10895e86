#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/message_text.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_file.h"
#include "weights/files/json_reader.h"
#include "weights/files/read_file.h"

namespace neuroshard {
namespace {

constexpr int kMaxIndex = std::numeric_limits<int>::max() - 1;

std::vector<int> read_indices(JsonArray array, const std::string& place) {
  std::vector<int> indices;
  for (const JsonValue item : array) {
    indices.push_back(static_cast<int>(json_integer(item, place, 0, kMaxIndex)));
  }
  return indices;
}

/// Empty if the file does not say: the published system writes a text or a number.
std::string read_error_kind(const JsonObject& file) {
  if (!file.value("error").is_object()) return "";
  const JsonObject error = file.object("error");
  return error.has("kind") ? error.text("kind") : "";
}

/// One line of results: ours, or of the published system, whose extra fields mean nothing here.
PlanRecord read_line(const JsonObject& line) {
  PlanRecord record;
  record.where = line.where();
  if (line.has("task")) record.task = line.small_integer("task", 0, kMaxIndex);
  if (line.has("tables")) record.tables = line.small_integer("tables", 0, kMaxIndex);
  for (const char* name : {"search_ms", "seconds", "heads", "fits_memory", "warning", "complete"})
    (void)line.has(name);
  if (line.has("cost") && !line.value("cost").is_null()) record.cost_ms = line.number("cost");
  const bool has_steps = line.has("steps");
  if (line.has("error")) {
    record.error_kind = read_error_kind(line);
  } else if (!line.value("shards").is_null()) {
    Plan& plan = record.plan.emplace();
    if (has_steps) plan.column_splits = read_indices(line.array("steps"), line.place("steps"));
    for (const JsonValue shard : line.array("shards")) {
      const std::string place = line.place("shards: list " + std::to_string(plan.shards.size()));
      JsonArray indices;
      if (shard.get(indices) != simdjson::SUCCESS) {
        throw Error(place + " is not an array of indices, [0, 3, ...]");
      }
      plan.shards.push_back(read_indices(indices, place));
    }
  }
  line.reject_unknown_fields();
  return record;
}

/// Adds the slices of one device to the plan.
void read_shard(const JsonObject& device, PlanRecord& record) {
  std::vector<int>& shard = record.plan->shards.emplace_back();
  JsonObject entry([&] { return device.place("shard: entry " + std::to_string(shard.size())); });
  for (const JsonValue item : device.array("shard")) {
    entry.reset(item);
    const int index = entry.small_integer("slice", 0, kMaxIndex);
    const TableSlice slice = {entry.small_integer("table", 0, kMaxIndex),
                              entry.small_integer("first_column", 0, kMaxDim),
                              entry.small_integer("dim", 1, kMaxDim)};
    for (const char* name : {"name", "size_bytes"}) (void)entry.has(name);
    entry.reject_unknown_fields();
    shard.push_back(index);
    record.slices.push_back({index, slice});
  }
}

PlanRecord read_document(const JsonObject& file) {
  check_format(file, "neuroshard.plan", 1);
  PlanRecord record;
  record.where = file.where();
  if (file.has("task")) {
    const JsonObject task = file.object("task");
    if (task.has("tables")) record.tables = task.small_integer("tables", 1, kMaxIndex);
    for (const char* name : {"name", "size_gb", "devices", "memory_gb", "reserved_gb"})
      (void)task.has(name);
    task.reject_unknown_fields();
  }
  for (const char* name :
       {"weights", "notes", "fits_memory", "search", "alternatives", "replan", "moves"})
    (void)file.has(name);
  if (file.has("error")) {
    record.error_kind = read_error_kind(file);
    file.reject_unknown_fields();
    return record;
  }
  if (file.has("cost_ms")) record.cost_ms = file.number("cost_ms");

  Plan& plan = record.plan.emplace();
  plan.column_splits = read_indices(file.array("column_splits"), file.place("column_splits"));
  for (const JsonValue item : file.array("devices")) {
    const auto place = static_cast<int>(plan.shards.size());
    const JsonObject device(item, file.where() + ": device " + std::to_string(place));
    (void)device.small_integer("device", place, place);
    for (const char* name : {"cost", "memory_gb", "memory", "dim_sum"}) (void)device.has(name);
    read_shard(device, record);
    device.reject_unknown_fields();
  }
  file.reject_unknown_fields();
  return record;
}

PlanRecord parse_plan(std::string_view text, const std::string& where) {
  const JsonDocument document = parse_json(text, where);
  const JsonObject object(document.root(), where);
  return object.has("format") ? read_document(object) : read_line(object);
}

constexpr const char* kGiveItsTask = "give the task that the plan was made for";

std::string text_of(const TableSlice& slice) {
  return "columns " + std::to_string(slice.first_column) + " to " +
         std::to_string(slice.first_column + slice.dim - 1) + " of table " +
         std::to_string(slice.table);
}

/// Slices, by index, that are said to be other columns than those that they are for `task`.
void add_misstatements(const PlanRecord& record, const Task& task,
                       std::vector<PlanProblem>& problems) {
  const std::vector<TableSlice> slices = split_columns(task, record.plan->column_splits);
  std::vector<StatedSlice> by_index = record.slices;
  std::ranges::stable_sort(by_index, {}, &StatedSlice::index);
  for (const auto& [index, stated] : by_index) {
    if (static_cast<std::size_t>(index) >= slices.size()) continue;  // check_plan() says so.
    const TableSlice& slice = slices[static_cast<std::size_t>(index)];
    if (stated == slice) continue;
    problems.push_back({.kind = PlanProblem::Kind::kTask,
                        .slice = index,
                        .table = slice.table,
                        .what = "slice " + std::to_string(index) + " is said to be " +
                                text_of(stated) + ", but for this task it is " + text_of(slice),
                        .remedy = kGiveItsTask});
  }
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

std::vector<PlanRecord> parse_plans(std::string_view text, const std::string& where) {
  if (is_blank(text)) throw Error(where + ": is empty; expected a plan");
  std::vector<PlanRecord> records;
  // A first line that is complete by itself starts a file of one plan a line.
  if (!is_json(text.substr(0, text.find('\n')))) {
    records.push_back(parse_plan(text, where));
    return records;
  }
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!is_blank(line)) {
      records.push_back(parse_plan(line, where + ": line " + std::to_string(number)));
    }
  }
  return records;
}

std::vector<PlanRecord> load_plans(const std::filesystem::path& path) {
  return parse_plans(read_file(path), path.string());
}

std::vector<PlanProblem> check_plan(const PlanRecord& record, const Task& task) {
  if (!record.plan) throw Error(record.where + ": has no plan; the search found none");
  std::vector<PlanProblem> problems;
  if (record.tables && static_cast<std::size_t>(*record.tables) != task.tables.size()) {
    problems.push_back({.kind = PlanProblem::Kind::kTask,
                        .what = "is a plan for " + std::to_string(*record.tables) +
                                " tables; the task has " + std::to_string(task.tables.size()),
                        .remedy = kGiveItsTask});
  }
  std::vector<PlanProblem> others = check_plan(*record.plan, task);
  const bool splits = std::ranges::none_of(
      others, [](const PlanProblem& p) { return p.kind == PlanProblem::Kind::kSplit; });
  if (splits) add_misstatements(record, task, problems);
  std::ranges::move(others, std::back_inserter(problems));
  return problems;
}

const Plan& plan_for(const PlanRecord& record, const Task& task) {
  std::vector<PlanProblem> problems = check_plan(record, task);
  std::erase_if(problems,
                [](const PlanProblem& p) { return p.kind == PlanProblem::Kind::kMemory; });
  if (problems.empty()) return *record.plan;
  std::string message = record.where + ": " + problems.front().message();
  if (problems.size() > 1) {
    message += " (and " + counted(problems.size() - 1, "more problem") + ")";
  }
  throw Error(message);
}

}  // namespace neuroshard
