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

constexpr int kNewestPlanVersion = 2;
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

/// Five numbers: table, first column, columns, first row, rows.
TableSlice read_slice(const JsonValue& item, const std::string& place) {
  JsonArray numbers;
  const bool is_array = item.get(numbers) == simdjson::SUCCESS;
  if (!is_array || numbers.size() != 5) {
    throw Error(place + " is no slice; give [table, first_column, dim, first_row, rows]");
  }
  const auto number = [&](std::size_t i, std::int64_t high) {
    return json_integer(numbers.at(i), place, 0, high);
  };
  return {static_cast<int>(number(0, kMaxIndex)), static_cast<int>(number(1, kMaxDim)),
          static_cast<int>(number(2, kMaxDim)), number(3, kMaxRows), number(4, kMaxRows)};
}

std::vector<std::vector<int>> read_shards(const JsonObject& line) {
  std::vector<std::vector<int>> shards;
  for (const JsonValue shard : line.array("shards")) {
    const std::string place = line.place("shards: list " + std::to_string(shards.size()));
    JsonArray indices;
    if (shard.get(indices) != simdjson::SUCCESS) {
      throw Error(place + " is not an array of indices, [0, 3, ...]");
    }
    shards.push_back(read_indices(indices, place));
  }
  return shards;
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
  const bool has_slices = line.has("slices");
  const bool has_replicas = line.has("replicas");
  if (has_steps && has_slices) {
    throw Error(line.where() + ": has both steps and slices; give one of them");
  }
  if (has_replicas && !has_slices) {
    throw Error(line.where() + ": has replicas but no slices; give both");
  }
  if (line.has("error")) {
    record.error_kind = read_error_kind(line);
  } else if (!line.value("shards").is_null()) {
    if (has_slices) {
      Plan plan;
      for (const JsonValue item : line.array("slices")) {
        const std::string place = line.place("slices: entry " + std::to_string(plan.slices.size()));
        plan.slices.push_back(read_slice(item, place));
      }
      plan.shards = read_shards(line);
      if (has_replicas) {
        plan.replicas = read_indices(line.array("replicas"), line.place("replicas"));
      }
      record.plan = std::move(plan);
    } else {
      HalvedPlan plan;
      if (has_steps) plan.column_splits = read_indices(line.array("steps"), line.place("steps"));
      plan.shards = read_shards(line);
      record.plan = std::move(plan);
    }
  }
  line.reject_unknown_fields();
  return record;
}

/// Adds the slices of one device to `slices`, and returns their indices.
std::vector<int> read_shard(const JsonObject& device, int version,
                            std::vector<StatedSlice>& slices) {
  std::vector<int> shard;
  JsonObject entry([&] { return device.place("shard: entry " + std::to_string(shard.size())); });
  for (const JsonValue item : device.array("shard")) {
    entry.reset(item);
    StatedSlice stated;
    stated.index = entry.small_integer("slice", 0, kMaxIndex);
    stated.slice.table = entry.small_integer("table", 0, kMaxIndex);
    stated.slice.first_column = entry.small_integer("first_column", 0, kMaxDim);
    stated.slice.dim = entry.small_integer("dim", version == 1 ? 1 : 0, kMaxDim);
    if (version > 1) {
      stated.slice.first_row = entry.integer("first_row", 0, kMaxRows);
      stated.slice.rows = entry.integer("rows", 0, kMaxRows);
    }
    for (const char* name : {"name", "size_bytes"}) (void)entry.has(name);
    entry.reject_unknown_fields();
    shard.push_back(stated.index);
    slices.push_back(stated);
  }
  return shard;
}

/// The slices in the order of their indices, which have to be 0, 1, ...
std::vector<TableSlice> numbered_slices(std::vector<StatedSlice> stated, const std::string& where) {
  std::ranges::stable_sort(stated, {}, &StatedSlice::index);
  std::vector<TableSlice> slices;
  slices.reserve(stated.size());
  for (const auto& [index, slice] : stated) {
    // One that is listed twice as the same is on two devices, which check_plan() says.
    if (!slices.empty() && static_cast<std::size_t>(index) + 1 == slices.size() &&
        slice == slices.back()) {
      continue;
    }
    if (static_cast<std::size_t>(index) != slices.size()) {
      const bool twice = static_cast<std::size_t>(index) < slices.size();
      throw Error(where + ": devices: " +
                  (twice ? "two different slices have index " + std::to_string(index)
                         : "no slice has index " + std::to_string(slices.size()) +
                               ", but there is one with " + std::to_string(index)) +
                  "; number the slices 0, 1, ...");
    }
    slices.push_back(slice);
  }
  return slices;
}

PlanRecord read_document(const JsonObject& file) {
  const int version = check_format(file, "neuroshard.plan", kNewestPlanVersion);
  PlanRecord record;
  record.where = file.where();
  if (file.has("task")) {
    const JsonObject task = file.object("task");
    if (task.has("tables")) record.tables = task.small_integer("tables", 1, kMaxIndex);
    for (const char* name : {"name", "size_gb", "devices", "memory_gb", "reserved_gb"})
      (void)task.has(name);
    task.reject_unknown_fields();
  }
  for (const char* name : {"weights", "notes", "fits_memory", "search", "alternatives", "moves"})
    (void)file.has(name);
  if (file.has("replan")) {
    const JsonObject replan = file.object("replan");
    if (replan.has("unspent_bytes")) {
      record.unspent_bytes =
          replan.integer("unspent_bytes", 0, std::numeric_limits<std::int64_t>::max());
    }
  }
  if (file.has("error")) {
    record.error_kind = read_error_kind(file);
    file.reject_unknown_fields();
    return record;
  }
  if (file.has("cost_ms")) record.cost_ms = file.number("cost_ms");

  std::vector<int> column_splits;
  if (version == 1) {
    column_splits = read_indices(file.array("column_splits"), file.place("column_splits"));
  }
  std::vector<int> replicas;
  if (version > 1 && file.has("replicas")) {
    replicas = read_indices(file.array("replicas"), file.place("replicas"));
  }
  std::vector<std::vector<int>> shards;
  for (const JsonValue item : file.array("devices")) {
    const auto place = static_cast<int>(shards.size());
    const JsonObject device(item, file.where() + ": device " + std::to_string(place));
    (void)device.small_integer("device", place, place);
    for (const char* name :
         {"cost", "memory_gb", "of_memory_gb", "memory", "base_ms", "speed", "dim_sum"}) {
      (void)device.has(name);
    }
    shards.push_back(read_shard(device, version, record.slices));
    device.reject_unknown_fields();
  }
  file.reject_unknown_fields();
  if (version == 1) {
    record.plan = HalvedPlan{std::move(column_splits), std::move(shards)};
  } else {
    record.plan = Plan{numbered_slices(std::move(record.slices), record.where), std::move(shards),
                       std::move(replicas)};
    record.slices.clear();
  }
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
void add_misstatements(const PlanRecord& record, const HalvedPlan& plan, const Task& task,
                       std::vector<PlanProblem>& problems) {
  const std::vector<TableSlice> slices = split_columns(task, plan.column_splits);
  std::vector<StatedSlice> by_index = record.slices;
  std::ranges::stable_sort(by_index, {}, &StatedSlice::index);
  for (const auto& [index, stated] : by_index) {
    if (static_cast<std::size_t>(index) >= slices.size()) continue;  // check_plan() says so.
    const TableSlice& slice = slices[static_cast<std::size_t>(index)];
    if (stated.table == slice.table && stated.first_column == slice.first_column &&
        stated.dim == slice.dim) {
      continue;
    }
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

const std::vector<std::vector<int>>& PlanRecord::shards() const {
  return std::visit(
      [](const auto& of) -> const std::vector<std::vector<int>>& { return of.shards; }, *plan);
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
  std::vector<PlanProblem> others =
      std::visit([&](const auto& plan) { return check_plan(plan, task); }, *record.plan);
  const bool splits = std::ranges::none_of(
      others, [](const PlanProblem& p) { return p.kind == PlanProblem::Kind::kSplit; });
  const auto* halved = std::get_if<HalvedPlan>(&*record.plan);
  if (halved != nullptr && splits) add_misstatements(record, *halved, task, problems);
  std::ranges::move(others, std::back_inserter(problems));
  return problems;
}

Plan plan_for(const PlanRecord& record, const Task& task) {
  std::vector<PlanProblem> problems = check_plan(record, task);
  std::erase_if(problems, [](const PlanProblem& p) {
    return p.kind == PlanProblem::Kind::kMemory || p.kind == PlanProblem::Kind::kRule;
  });
  if (problems.empty()) {
    const auto* halved = std::get_if<HalvedPlan>(&*record.plan);
    return halved != nullptr ? plan_from_halvings(task, *halved) : std::get<Plan>(*record.plan);
  }
  std::string message = record.where + ": " + problems.front().message();
  if (problems.size() > 1) {
    message += " (and " + counted(problems.size() - 1, "more problem") + ")";
  }
  throw Error(message);
}

}  // namespace neuroshard
