#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/count_up.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_file.h"
#include "weights/files/json_reader.h"
#include "weights/files/read_file.h"

namespace neuroshard {
namespace {

constexpr int kNewestPlanVersion = 2;
constexpr int kMaxIndex = std::numeric_limits<int>::max() - 1;

/// Faults of a record's values: thrown, or listed as far as one can read on.
class Faults {
 public:
  Faults(PlanFaults handling, PlanRecord& record)
      : listed_(handling == PlanFaults::kListed), record_(record) {}

  [[nodiscard]] int index(const JsonObject& object, const char* name, int least, int most) const {
    const std::optional<std::int64_t> any = any_integer(object.value(name), kWide);
    return any ? static_cast<int>(*any) : object.small_integer(name, least, most);
  }
  [[nodiscard]] int index(JsonValue value, const std::string& place, int most) const {
    const std::optional<std::int64_t> any = any_integer(value, kWide);
    return static_cast<int>(any ? *any : json_integer(value, place, 0, most));
  }
  [[nodiscard]] std::int64_t rows(const JsonObject& object, const char* name) const {
    const std::optional<std::int64_t> any = any_integer(object.value(name), kWideRows);
    return any ? *any : object.integer(name, 0, kMaxRows);
  }
  [[nodiscard]] std::int64_t rows(JsonValue value, const std::string& place) const {
    const std::optional<std::int64_t> any = any_integer(value, kWideRows);
    return any ? *any : json_integer(value, place, 0, kMaxRows);
  }

  /// Returns whether `read` went well.
  template <typename Read>
  bool attempt(PlanProblem::Kind kind, int device, const Read& read) {
    try {
      read();
      return true;
    } catch (const Error& error) {
      if (!listed_) throw;
      add(kind, device, error.what());
      return false;
    }
  }

  /// `message`: as an Error has it, with place, fact and remedy.
  void report(PlanProblem::Kind kind, int device, const std::string& message) {
    attempt(kind, device, [&] { throw Error(message); });
  }

 private:
  // Sums of two of them are no problem.
  static constexpr std::int64_t kWide = std::int64_t{1} << 30;
  static constexpr std::int64_t kWideRows = std::int64_t{1} << 60;

  /// If faults are listed, numbers that are in no plan are left to check_plan().
  [[nodiscard]] std::optional<std::int64_t> any_integer(JsonValue value, std::int64_t wide) const {
    std::int64_t number = 0;
    if (!listed_ || value.get(number) != simdjson::SUCCESS) return std::nullopt;
    return number >= -wide && number <= wide ? std::optional(number) : std::nullopt;
  }

  void add(PlanProblem::Kind kind, int device, std::string_view message) {
    if (message.starts_with(record_.where)) {
      message.remove_prefix(std::min(message.size(), record_.where.size() + 2));
    }
    const std::size_t end = std::min(message.rfind("; "), message.size());
    const std::string_view remedy = message.substr(std::min(message.size(), end + 2));
    record_.faults.push_back({.kind = kind,
                              .device = device,
                              .what = std::string(message.substr(0, end)),
                              .remedy = remedy.empty() ? "mend the file" : std::string(remedy)});
  }

  bool listed_;
  PlanRecord& record_;
};

std::vector<int> read_indices(JsonArray array, const std::string& place, PlanProblem::Kind kind,
                              Faults& faults, int device = -1) {
  std::vector<int> indices;
  for (const JsonValue item : array) {
    faults.attempt(kind, device, [&] { indices.push_back(faults.index(item, place, kMaxIndex)); });
  }
  return indices;
}

/// Takes fields for known that say nothing of a plan.
void ignore(const JsonObject& object, std::initializer_list<const char*> names) {
  for (const char* name : names) (void)object.has(name);
}

/// Empty if the file does not say: the published system writes a text or a number.
std::string read_error_kind(const JsonObject& file) {
  if (!file.value("error").is_object()) return "";
  const JsonObject error = file.object("error");
  return error.has("kind") ? error.text("kind") : "";
}

/// Five numbers: table, first column, columns, first row, rows.
TableSlice read_slice(const JsonValue& item, const std::string& place, const Faults& faults) {
  JsonArray numbers;
  const bool is_array = item.get(numbers) == simdjson::SUCCESS;
  if (!is_array || numbers.size() != 5) {
    throw Error(place + " is no slice; give [table, first_column, dim, first_row, rows]");
  }
  const auto number = [&](std::size_t i, int most) {
    return faults.index(numbers.at(i), place, most);
  };
  return {number(0, kMaxIndex), number(1, kMaxDim), number(2, kMaxDim),
          faults.rows(numbers.at(3), place), faults.rows(numbers.at(4), place)};
}

/// Table, rows on every device, and rows that each node holds once, if any.
std::vector<HotRows> read_hot_rows(const JsonObject& object, Faults& faults) {
  std::vector<HotRows> hot_rows;
  std::size_t position = 0;
  for (const JsonValue item : object.array("hot_rows")) {
    const std::string place = object.place("hot_rows: entry " + std::to_string(position++));
    faults.attempt(PlanProblem::Kind::kSlice, -1, [&] {
      JsonArray numbers;
      const bool is_array = item.get(numbers) == simdjson::SUCCESS;
      if (!is_array || numbers.size() < 2 || numbers.size() > 3) {
        throw Error(place + " is neither [table, rows] nor [table, rows, node_rows]; give one");
      }
      hot_rows.push_back({faults.index(numbers.at(0), place, kMaxIndex),
                          faults.rows(numbers.at(1), place),
                          numbers.size() < 3 ? 0 : faults.rows(numbers.at(2), place)});
    });
  }
  return hot_rows;
}

/// Tables that are not in slices, or not as they are.
void read_tables(const JsonObject& object, Faults& faults, Plan& plan) {
  const auto read = [&](const char* field) {
    return read_indices(object.array(field), object.place(field), PlanProblem::Kind::kSlice,
                        faults);
  };
  if (object.has("replicas")) plan.replicas = read("replicas");
  if (object.has("deduplicated")) plan.deduplicated = read("deduplicated");
  if (object.has("hot_rows")) plan.hot_rows = read_hot_rows(object, faults);
}

std::vector<std::vector<int>> read_shards(const JsonObject& line, Faults& faults) {
  std::vector<std::vector<int>> shards;
  for (const JsonValue shard : line.array("shards")) {
    const auto device = static_cast<int>(shards.size());
    const std::string place = line.place("shards: list " + std::to_string(device));
    std::vector<int>& indices = shards.emplace_back();
    JsonArray list;
    if (shard.get(list) == simdjson::SUCCESS) {
      indices = read_indices(list, place, PlanProblem::Kind::kSlice, faults, device);
    } else {
      faults.report(PlanProblem::Kind::kDevices, device,
                    place + " is not an array of indices; give a list, [0, 3, ...]");
    }
  }
  return shards;
}

/// One line of results: ours, or of the published system, whose extra fields mean nothing here.
PlanRecord read_line(const JsonObject& line, PlanFaults handling) {
  PlanRecord record;
  record.where = line.where();
  Faults faults(handling, record);
  if (line.has("task")) record.task = line.small_integer("task", 0, kMaxIndex);
  if (line.has("tables")) record.tables = line.small_integer("tables", 0, kMaxIndex);
  ignore(line, {"search_ms", "seconds", "heads", "fits_memory", "warning", "complete"});
  if (line.has("cost") && !line.value("cost").is_null()) record.cost_ms = line.number("cost");
  const bool has_steps = line.has("steps");
  const bool has_slices = line.has("slices");
  const bool has_replicas = line.has("replicas");
  const bool has_deduplicated = line.has("deduplicated");
  const bool has_hot_rows = line.has("hot_rows");
  if (has_steps && has_slices) {
    throw Error(line.where() + ": has both steps and slices; give one of them");
  }
  if ((has_replicas || has_deduplicated || has_hot_rows) && !has_slices) {
    throw Error(line.where() + ": has " +
                (has_replicas       ? "replicas"
                 : has_deduplicated ? "deduplicated"
                                    : "hot_rows") +
                " but no slices; give both");
  }
  if (line.has("error")) {
    record.error_kind = read_error_kind(line);
  } else if (!line.value("shards").is_null()) {
    if (has_slices) {
      Plan plan;
      for (const JsonValue item : line.array("slices")) {
        const std::string place = line.place("slices: entry " + std::to_string(plan.slices.size()));
        // One that cannot be read is an empty one, so that the others keep their numbers.
        TableSlice& slice = plan.slices.emplace_back();
        faults.attempt(PlanProblem::Kind::kSlice, -1,
                       [&] { slice = read_slice(item, place, faults); });
      }
      plan.shards = read_shards(line, faults);
      read_tables(line, faults, plan);
      record.plan = std::move(plan);
    } else {
      HalvedPlan plan;
      if (has_steps) {
        plan.column_splits = read_indices(line.array("steps"), line.place("steps"),
                                          PlanProblem::Kind::kSplit, faults);
      }
      plan.shards = read_shards(line, faults);
      record.plan = std::move(plan);
    }
  }
  line.reject_unknown_fields();
  return record;
}

StatedSlice read_stated_slice(const JsonObject& entry, int version, const Faults& faults) {
  StatedSlice stated;
  stated.index = faults.index(entry, "slice", 0, kMaxIndex);
  stated.slice.table = faults.index(entry, "table", 0, kMaxIndex);
  stated.slice.first_column = faults.index(entry, "first_column", 0, kMaxDim);
  stated.slice.dim = faults.index(entry, "dim", version == 1 ? 1 : 0, kMaxDim);
  if (version > 1) {
    // Sums of two of them are no problem, either.
    stated.slice.first_row = faults.rows(entry, "first_row");
    stated.slice.rows = faults.rows(entry, "rows");
  }
  ignore(entry, {"name", "size_bytes", "hbm_share", "ssd_share"});
  entry.reject_unknown_fields();
  return stated;
}

/// Adds the slices of one device to `slices`, and what it calls their tables to `names`. Returns
/// their indices.
std::vector<int> read_shard(const JsonObject& device, int number, int version, Faults& faults,
                            std::vector<StatedSlice>& slices, std::vector<StatedName>& names) {
  std::vector<int> shard;
  std::size_t position = 0;
  JsonObject entry([&] { return device.place("shard: entry " + std::to_string(position)); });
  JsonArray list;
  if (!faults.attempt(PlanProblem::Kind::kDevices, number, [&] { list = device.array("shard"); })) {
    return shard;
  }
  for (const JsonValue item : list) {
    faults.attempt(PlanProblem::Kind::kSlice, number, [&] {
      entry.reset(item);
      slices.push_back(read_stated_slice(entry, version, faults));
      shard.push_back(slices.back().index);
      // A bad name costs no slice.
      if (!entry.has("name")) return;
      const StatedSlice& stated = slices.back();
      faults.attempt(PlanProblem::Kind::kSlice, number, [&] {
        names.push_back({stated.index, stated.slice.table, entry.text("name")});
      });
    });
    ++position;
  }
  return shard;
}

/// The slices in the order of their indices, which have to be 0, 1, ... If they are not, and that
/// is listed, they get the numbers of their order, in `shards`, too.
std::vector<TableSlice> numbered_slices(const std::vector<StatedSlice>& listed, Faults& faults,
                                        const std::string& where,
                                        std::vector<std::vector<int>>& shards) {
  std::vector<std::size_t> order = count_up<std::size_t>(listed.size());
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return listed[i].index; });
  std::vector<TableSlice> slices;
  slices.reserve(listed.size());
  std::vector<int> numbers(listed.size());  // In the order of the file.
  std::optional<int> before;
  bool renumbered = false;
  for (const std::size_t i : order) {
    const auto& [index, slice] = listed[i];
    // One that is listed twice as the same is on two devices, which check_plan() says.
    const bool again = before == index && slice == slices.back();
    if (!again && !renumbered && static_cast<std::size_t>(index) != slices.size()) {
      const bool twice = before == index;
      faults.report(PlanProblem::Kind::kSlice, -1,
                    where + ": devices: " +
                        (twice ? "two different slices have index " + std::to_string(index)
                               : "no slice has index " + std::to_string(slices.size()) +
                                     ", but there is one with " + std::to_string(index)) +
                        "; number the slices 0, 1, ...");
      renumbered = true;
    }
    if (!again) slices.push_back(slice);
    numbers[i] = static_cast<int>(slices.size()) - 1;
    before = index;
  }
  if (!renumbered) return slices;
  std::size_t next = 0;
  for (std::vector<int>& shard : shards) {
    for (int& index : shard) index = numbers[next++];
  }
  return slices;
}

PlanRecord read_document(const JsonObject& file, PlanFaults handling) {
  const int version = check_format(file, "neuroshard.plan", kNewestPlanVersion);
  PlanRecord record;
  record.where = file.where();
  Faults faults(handling, record);
  if (file.has("task")) {
    const JsonObject task = file.object("task");
    if (task.has("tables")) record.tables = task.small_integer("tables", 1, kMaxIndex);
    ignore(task, {"name", "size_gb", "devices", "memory_gb", "reserved_gb"});
    task.reject_unknown_fields();
  }
  ignore(file, {"weights", "notes", "fits_memory", "search", "alternatives", "moves", "set_by"});
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
    column_splits = read_indices(file.array("column_splits"), file.place("column_splits"),
                                 PlanProblem::Kind::kSplit, faults);
  }
  Plan plan;
  if (version > 1) read_tables(file, faults, plan);
  std::vector<std::vector<int>> shards;
  for (const JsonValue item : file.array("devices")) {
    const auto place = static_cast<int>(shards.size());
    std::optional<JsonObject> object;
    shards.emplace_back();
    if (!faults.attempt(PlanProblem::Kind::kDevices, place, [&] {
          object.emplace(item, file.where() + ": device " + std::to_string(place));
        })) {
      continue;
    }
    const JsonObject& device = *object;
    faults.attempt(PlanProblem::Kind::kDevices, place, [&] {
      const int number = device.small_integer("device", 0, kMaxIndex);
      if (number == place) return;
      throw Error(file.place("devices: entry " + std::to_string(place)) + " is device " +
                  std::to_string(number) + "; list all devices in order: 0, 1, ...");
    });
    ignore(device, {"cost", "memory_gb", "of_memory_gb", "memory", "base_ms", "speed", "dim_sum"});
    shards.back() = read_shard(device, place, version, faults, record.slices, record.names);
    faults.attempt(PlanProblem::Kind::kDevices, place, [&] { device.reject_unknown_fields(); });
  }
  file.reject_unknown_fields();
  if (version == 1) {
    record.plan = HalvedPlan{std::move(column_splits), std::move(shards)};
  } else {
    plan.slices = numbered_slices(record.slices, faults, record.where, shards);
    plan.shards = std::move(shards);
    record.plan = std::move(plan);
    record.slices.clear();
  }
  return record;
}

PlanRecord parse_plan(std::string_view text, const std::string& where, PlanFaults faults) {
  const JsonDocument document = parse_json(text, where);
  const JsonObject object(document.root(), where);
  return object.has("format") ? read_document(object, faults) : read_line(object, faults);
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

std::vector<PlanRecord> parse_plans(std::string_view text, const std::string& where,
                                    PlanFaults faults) {
  if (is_blank(text)) throw Error(where + ": is empty; expected a plan");
  std::vector<PlanRecord> records;
  // A first line that is complete by itself starts a file of one plan a line.
  if (!is_json(text.substr(0, text.find('\n')))) {
    records.push_back(parse_plan(text, where, faults));
    return records;
  }
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!is_blank(line)) {
      records.push_back(parse_plan(line, where + ": line " + std::to_string(number), faults));
    }
  }
  return records;
}

const std::vector<std::vector<int>>& PlanRecord::shards() const {
  return std::visit(
      [](const auto& of) -> const std::vector<std::vector<int>>& { return of.shards; }, *plan);
}

std::vector<PlanRecord> load_plans(const std::filesystem::path& path, PlanFaults faults) {
  return parse_plans(read_file(path), path.string(), faults);
}

}  // namespace neuroshard
